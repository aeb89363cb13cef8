import type { Span } from "@opentelemetry/api"
import { orAborted } from "../../../util/abort.js"
import type { Cell } from "../query/statement.js"
import { failsBy, StatementError } from "../query/statement-error.js"
import type { Connection, Result, SqlEngine } from "./engine.js"
import { observedConnection } from "./observed-connection.js"
import type { Observation } from "./observer.js"

/** The connection that a unit of work takes from the pool. It is not open at first. */
export class PooledConnection {
  readonly #engine: SqlEngine
  readonly #observation: Observation
  readonly #onClose: (() => void) | undefined
  /** The spans of the statements; see Waiter. They may change between two statements. */
  spans: readonly Span[]
  #opening: Promise<void> | undefined
  #connection: Connection | undefined
  #isInTransaction = false

  /** @param onClose Called when the connection is back in the pool. */
  constructor(engine: SqlEngine, observation: Observation = {}, spans: readonly Span[] = [], onClose?: () => void) {
    this.#engine = engine
    this.#observation = observation
    this.spans = spans
    this.#onClose = onClose
  }

  /** Whether a transaction has begun and has not ended. */
  get isInTransaction(): boolean {
    return this.#isInTransaction
  }

  get #open(): Connection {
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

  /** Runs a statement. Outside of a transaction the database commits it at once. */
  run(statement: string, cells?: Cell[]): Promise<Result> {
    const result = this.#open.run(statement, cells)
    return this.#isInTransaction ? result : result.catch(throwUnanswered)
  }

  /**
   * Runs a statement that may run twice. A pooled connection may be dead because the database restarted, or may lead to a server
   * that takes no writes any more because of a failover. Outside of a transaction the statement then moves to the next connection,
   * until it fails on one that is new.
   *
   * @param signal Ends the wait for such a connection, with its reason.
   */
  async read(statement: string, cells?: Cell[], signal?: AbortSignal): Promise<Result> {
    for (;;) {
      try {
        return await this.#open.run(statement, cells)
      } catch (error) {
        const isStale = failsBy(error, "unavailable") || failsBy(error, "read-only")
        if (!isStale || this.#isInTransaction || !this.#open.reused) throw error
        this.#open.discard()
        this.#connection = undefined
        await this.open(signal)
      }
    }
  }

  async begin(signal?: AbortSignal): Promise<void> {
    await this.read(this.#engine.begin, undefined, signal)
    this.#isInTransaction = true
  }

  async commit(): Promise<void> {
    await this.#open.run("COMMIT").catch(throwUnanswered)
    this.#isInTransaction = false
  }

  /** Rolls back the transaction, if there is one. Never throws. */
  async rollBack(): Promise<void> {
    if (!this.#isInTransaction) return
    this.#isInTransaction = false
    const connection = this.#open
    await connection.run("ROLLBACK").catch(() => connection.discard())
  }

  /** Returns the connection to the pool. Resolves when that is done, also for a connection that is still being opened. */
  async close(): Promise<void> {
    if (this.#connection === undefined) await this.#opening?.catch(() => {})
    this.#connection?.release()
    this.#connection = undefined
    this.#onClose?.()
  }
}

/** Throws a failure of something that may have been committed. */
function throwUnanswered(error: unknown): never {
  throw failsBy(error, "unavailable") ? new StatementError("unanswered", error.message, error.code) : error
}
