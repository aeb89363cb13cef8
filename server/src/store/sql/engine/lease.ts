import type { Span } from "@opentelemetry/api"
import { orAborted } from "../../../util/abort.js"
import type { Cell } from "../query/statement.js"
import { failsBy, StatementError } from "../query/statement-error.js"
import type { Connection, SqlEngine } from "./engine.js"
import { observedConnection } from "./observed-connection.js"
import type { Observation } from "./observer.js"

/** The connection that a unit of work borrows from the pool. It is not open at first. */
export class Lease {
  readonly #engine: SqlEngine
  readonly #observation: Observation
  readonly #onClose: (() => void) | undefined
  /** The spans of the statements; see Waiter. They may change between two statements. */
  spans: readonly Span[]
  #opening: Promise<void> | undefined
  #connection: Connection | undefined

  /** @param onClose Called when the connection is back in the pool. */
  constructor(engine: SqlEngine, observation: Observation = {}, spans: readonly Span[] = [], onClose?: () => void) {
    this.#engine = engine
    this.#observation = observation
    this.spans = spans
    this.#onClose = onClose
  }

  get connection(): Connection {
    if (this.#connection === undefined) throw new StatementError("fault", "the connection is not open")
    return this.#connection
  }

  /** Opens the connection, or throws the signal's reason when it aborts first. */
  open(signal?: AbortSignal): Promise<void> {
    const begun = performance.now()
    this.#opening = this.#engine.connect().then((connection) => {
      const { observer } = this.#observation
      // SQLite has one connection, which is always open.
      if (this.#engine.engine !== "sqlite" && !connection.reused) observer?.connected(performance.now() - begun)
      this.#connection =
        observer === undefined && this.#observation.tracer === undefined
          ? connection
          : observedConnection(connection, this.#engine, this.#observation, () => this.spans)
    })
    return orAborted(this.#opening, signal)
  }

  /**
   * Runs a statement that may run twice. A pooled connection may be dead because the database restarted, or may lead to a server
   * that takes no writes any more because of a failover. The statement then moves to the next connection, until it fails on one that
   * is new.
   *
   * @param signal Ends the wait for such a connection, with its reason.
   */
  async read(statement: string, cells?: Cell[], signal?: AbortSignal) {
    for (;;) {
      try {
        return await this.connection.run(statement, cells)
      } catch (error) {
        const isStale = failsBy(error, "unavailable") || failsBy(error, "read-only")
        if (!isStale || !this.connection.reused) throw error
        this.connection.discard()
        this.#connection = undefined
        await this.open(signal)
      }
    }
  }

  /** Returns the connection to the pool. Resolves when that is done, also for a connection that is still being opened. */
  async close(): Promise<void> {
    if (this.#connection === undefined) await this.#opening?.catch(() => {})
    this.#connection?.release()
    this.#connection = undefined
    this.#onClose?.()
  }
}
