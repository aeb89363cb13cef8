import { Transaction } from "../../store.js"
import type { Change, Statements } from "../query/statement.js"
import type { Participant } from "./group-commit.js"
import type { Join, JoinOptions } from "./unit-of-work.js"

/**
 * Several writes that are committed together, one after the other. A statement that fails rolls back those before it at once,
 * because PostgreSQL takes no further statement in that transaction. Work that continues after the failure runs in a new transaction.
 */
export class JointUnit extends Transaction {
  protected readonly isOpen = true
  readonly #join: Join
  #participant: Participant | undefined
  #hasWritten = false
  #isOver = false
  /** The statement that is running. */
  #active: Promise<unknown> = Promise.resolve()

  constructor(join: Join) {
    super()
    this.#join = join
  }

  /** @param rows Names of rows, as in Database. Further rows can be named as long as nothing is written. */
  async run<T>(rows: readonly string[], work: (sql: Statements) => Promise<T>, options?: JoinOptions): Promise<T> {
    const mayLeave = () => {
      if (this.#hasWritten) throw new Error("a row was named after another one was written")
    }
    const participant = await this.#join(rows, mayLeave, options)
    this.#participant = participant
    return work({
      read: async ({ sql, cells }, values) => (await this.#start(() => participant.read(sql, cells(values)))).rows,
      write: async ({ sql, cells }, values, also = []) => {
        const { matched } = await this.#start(() => participant.write(sql, cells(values)))
        this.#hasWritten ||= matched > 0
        if (matched > 0) for (const change of also) participant.changeAtCommit(change)
        return matched
      },
      change: async (changes) => {
        if (changes.length === 0) return
        await this.#start(() => participant.change(changes))
        this.#hasWritten = true
      },
    })
  }

  /** Makes a change just before the commit, so that a failure of the change fails the commit. */
  async changeAtCommit(change: Change): Promise<void> {
    const participant = this.#participant ?? (await this.#join([], () => {}))
    this.#participant = participant
    participant.changeAtCommit(change)
  }

  async commit(): Promise<void> {
    await this.#participant?.commit()
  }

  /** Ends the unit. Work whose caller has gone may still be running; its next statement throws. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#active
  }

  async #start<T>(run: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw new Error("the unit of work is over")
    const result = run().catch((error: unknown) => {
      this.#hasWritten = false
      throw error
    })
    this.#active = result.catch(() => {})
    return result
  }
}
