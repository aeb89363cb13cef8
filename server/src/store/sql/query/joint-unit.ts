import type { Result } from "../engine/engine.js"
import type { Lease } from "../engine/lease.js"
import type { Cell, Statements } from "./statement.js"
import type { Enter } from "./unit-of-work.js"

/**
 * Several pieces of work that are committed together, one after the other, in a transaction that the first statement
 * begins. A statement that fails undoes those before it, at once: PostgreSQL would take no more in that transaction. Work
 * that goes on after it does so in a new one.
 */
export class JointUnit {
  readonly #begin: string
  readonly #enter: Enter
  readonly #signal: AbortSignal | undefined
  #lease: Lease | undefined
  #inTransaction = false
  #hasWritten = false
  #isOver = false
  /** The statement that is active. */
  #active: Promise<unknown> = Promise.resolve()

  /** @param begin the statement that begins a transaction. */
  constructor(begin: string, enter: Enter, signal: AbortSignal | undefined) {
    this.#begin = begin
    this.#enter = enter
    this.#signal = signal
  }

  /** @param rows as Database has them. New ones can be named as long as nothing is written. */
  async run<T>(rows: readonly string[], work: (sql: Statements) => Promise<T>): Promise<T> {
    const lease = await this.#enter(rows, () => this.#undoReads())
    return work({
      read: async (statement, values) => (await this.#start(lease, statement.sql, statement.cells(values))).rows,
      write: async (statement, values, also) => {
        const { matched } = await this.#start(lease, statement.sql, statement.cells(values))
        this.#hasWritten ||= matched > 0
        if (matched > 0 && also !== undefined) await this.#start(lease, also.sql, also.cells)
        return matched
      },
    })
  }

  async commit(): Promise<void> {
    this.#signal?.throwIfAborted()
    if (!this.#inTransaction) return
    await this.#lease?.connection.run("COMMIT")
    this.#inTransaction = false
  }

  /** Undoes what was not committed. Work whose caller has gone may be active still: its next statement throws. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#active
    await this.#rollback()
  }

  #start(lease: Lease, sql: string, cells: Cell[]): Promise<Result> {
    this.#signal?.throwIfAborted()
    if (this.#isOver) throw new Error("the unit of work is over")
    const result = this.#execute(lease, sql, cells)
    this.#active = result.catch(() => {})
    return result
  }

  async #execute(lease: Lease, sql: string, cells: Cell[]): Promise<Result> {
    if (!this.#inTransaction) {
      this.#lease = lease
      await lease.read(this.#begin)
      this.#inTransaction = true
    }
    try {
      return await lease.connection.run(sql, cells)
    } catch (error) {
      await this.#rollback()
      throw error
    }
  }

  async #undoReads(): Promise<void> {
    if (this.#hasWritten) throw new Error("a row was named after another one was written")
    await this.#rollback()
  }

  async #rollback(): Promise<void> {
    this.#hasWritten = false
    if (!this.#inTransaction) return
    this.#inTransaction = false
    const connection = this.#lease?.connection
    await connection?.run("ROLLBACK").catch(() => connection.discard())
  }
}
