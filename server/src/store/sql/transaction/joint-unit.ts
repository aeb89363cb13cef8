import type { Change, Statements } from "../query/statement.js"
import type { Member } from "./group-commit.js"
import type { Enter, EnterOptions } from "./unit-of-work.js"

/**
 * Several pieces of work that are committed together, one after the other. A statement that fails undoes those before it, at
 * once: PostgreSQL would take no more in that transaction. Work that goes on after it does so in a new one.
 */
export class JointUnit {
  readonly #enter: Enter
  #member: Member | undefined
  #hasWritten = false
  #isOver = false
  /** The statement that is active. */
  #active: Promise<unknown> = Promise.resolve()

  constructor(enter: Enter) {
    this.#enter = enter
  }

  /** @param rows as Database has them. New ones can be named as long as nothing is written. */
  async run<T>(rows: readonly string[], work: (sql: Statements) => Promise<T>, options?: EnterOptions): Promise<T> {
    const mayLeave = () => {
      if (this.#hasWritten) throw new Error("a row was named after another one was written")
    }
    const member = await this.#enter(rows, mayLeave, options)
    this.#member = member
    return work({
      read: async ({ sql, cells }, values) => (await this.#start(() => member.read(sql, cells(values)))).rows,
      write: async ({ sql, cells }, values, also = []) => {
        const { matched } = await this.#start(() => member.write(sql, cells(values)))
        this.#hasWritten ||= matched > 0
        if (matched > 0) for (const change of also) member.changeLast(change)
        return matched
      },
      change: async (changes) => {
        if (changes.length === 0) return
        await this.#start(() => member.change(changes))
        this.#hasWritten = true
      },
    })
  }

  /** Makes a change when all is committed: what fails by it fails then. */
  async changeLast(change: Change): Promise<void> {
    const member = this.#member ?? (await this.#enter([], () => {}))
    this.#member = member
    member.changeLast(change)
  }

  async commit(): Promise<void> {
    await this.#member?.commit()
  }

  /** Work whose caller has gone may be active still: its next statement throws. */
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
