import type { Span } from "@opentelemetry/api"
import type { Waiter } from "../../store.js"
import type { Result } from "../engine/engine.js"
import type { PooledConnection } from "../engine/pooled-connection.js"
import { type Cell, type Change, makeChanges } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import type { ConnectionPermits } from "./connection-permits.js"

/**
 * For how long units may join a transaction, in milliseconds. All of them wait for its commit, so that otherwise a short write of one
 * tenant would wait for many long ones of another.
 */
const openMs = 20

/** The failure of a unit whose transaction was rolled back, most often because of another unit. */
export class RolledBack extends Error {}

/**
 * A transaction of several units of work; see group-commit.ts. It runs one unit at a time and is in one of these states. In
 * all but the first it is closed: nobody joins.
 *
 *   state       what happens                            next state, and when
 *   ----------  --------------------------------------  --------------------------------------------------------------------
 *   open        a unit runs; others may wait            open: the unit is done, and a waiter joins
 *                                                       ending: the unit is done, and nobody waits, it is full, or its time is over
 *                                                       alone: a statement fails, or the unit gives up after it has written
 *   alone       a unit runs that nobody joins           ending: the unit is done or has given up
 *   ending      the changes of all units are made       committing: they succeed;  over: one fails, and all is rolled back
 *   committing  COMMIT runs; the next group may begin   over: with or without success
 */
export class Group {
  readonly #connection: PooledConnection
  readonly #permits: Pick<ConnectionPermits<Group>, "offer" | "close">
  readonly #limit: number
  state: "open" | "alone" | "ending" | "committing" | "over"
  /** Whether it counts as one that the next group waits for. */
  #isCounted: boolean
  #units = 0
  readonly #begun = performance.now()
  /** The units that are done, and are rolled back with the one that runs. */
  done: PromiseWithResolvers<void>[] = []
  #changes: Change[] = []
  /** Whether a failure of the changes may come from one that its work takes as made already. */
  #areTakenAsMade = false
  readonly #spans: Span[] = []

  /** @param limit The most units. With 1, nobody joins and the next group does not wait for this one. */
  constructor(connection: PooledConnection, permits: ConnectionPermits<Group>, limit: number) {
    this.#connection = connection
    this.#permits = permits
    this.#limit = limit
    this.#isCounted = limit > 1
    this.state = limit > 1 ? "open" : "alone"
  }

  enter({ spans = [] }: Waiter): void {
    this.#units++
    this.#spans.push(...spans)
    this.#connection.spans = spans
  }

  /** @param signal Ends the wait for a connection. Default: none, for statements of several units. */
  async run(sql: string, cells: Cell[], signal?: AbortSignal): Promise<Result> {
    if (!this.#connection.isInTransaction) await this.#connection.begin(signal)
    return this.#connection.run(sql, cells)
  }

  make(changes: readonly Change[], signal?: AbortSignal): Promise<void> {
    return makeChanges(changes, (sql, cells) => this.run(sql, cells, signal))
  }

  /** Rolls back what all units have done. Nobody joins any more, because the connection may be lost. */
  async rollBack(failure: unknown = new RolledBack()): Promise<void> {
    this.state = "alone"
    const done = this.done
    this.done = []
    this.#changes = []
    await this.#connection.rollBack()
    for (const { reject } of done) reject(failure)
  }

  /** The unit that runs is done, but for these changes, which are made at the commit. Returns the outcome of the commit. */
  end(changes: readonly Change[], areTakenAsMade: boolean): Promise<void> {
    this.#changes.push(...changes)
    this.#areTakenAsMade ||= areTakenAsMade
    const outcome = Promise.withResolvers<void>()
    this.done.push(outcome)
    this.pass()
    return outcome.promise
  }

  /** Lets the next unit join, or commits. */
  pass(): void {
    const mayBeJoined = this.#units < this.#limit && performance.now() - this.#begun < openMs
    if (this.state === "open" && mayBeJoined && this.#permits.offer(this)) return
    this.#commit()
  }

  async #commit(): Promise<void> {
    this.state = "ending"
    this.#connection.spans = this.#spans
    try {
      await this.#makeAll()
      this.state = "committing"
      this.#letNextBegin()
      if (this.#connection.isInTransaction) await this.#connection.commit()
      for (const { resolve } of this.done) resolve()
    } catch (error) {
      const isUnknown = failsBy(error, "unanswered") || (this.state === "committing" && !failsBy(error, "conflict"))
      const isOwn = this.done.length === 1 && !this.#areTakenAsMade
      await this.rollBack(isUnknown || isOwn ? error : undefined)
    }
    this.state = "over"
    await this.#connection.close()
    this.#letNextBegin()
  }

  /** Makes the changes of all units. A change that is the only statement is committed by itself. */
  async #makeAll(): Promise<void> {
    const [change, ...others] = this.#changes
    if (change === undefined || others.length > 0 || this.#connection.isInTransaction) return this.make(this.#changes)
    await makeChanges([change], (sql, cells) => this.#connection.run(sql, cells))
  }

  #letNextBegin(): void {
    if (this.#isCounted) this.#permits.close()
    this.#isCounted = false
  }
}
