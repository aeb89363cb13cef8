import { orAborted } from "../../../util/abort.js"
import { Transaction } from "../../store.js"
import type { Result } from "../engine/engine.js"
import type { Change, Statement, Statements } from "../query/statement.js"
import type { Access, Attempt, StepOptions } from "./access.js"
import { type Group, RolledBack } from "./group.js"

/*
 * Group commit: units of work that come at the same time share a transaction, because BEGIN, COMMIT and a statement for changes of
 * one kind cost as much for one unit as for many. Under little load each unit has a transaction of its own at once. Units that name the
 * same row are never in one transaction. Success is reported only after the database has committed.
 *
 * A unit (class GroupTransaction) is in one of these states, and its transaction (class Group) in one of those in group.ts:
 *
 *   apart       it has no transaction                   running: it joins one
 *   running     its work runs statements                running: it names further rows: it leaves, locks them and joins again
 *                                                       done: its work ends with success;  over: with a failure, or it gave up
 *   done        it waits for the commit                 over: with the outcome of the transaction
 *
 * The failure of a transaction is RolledBack for each unit that was done, unless only this unit can have caused it. Such a unit runs
 * again at once by itself. After a COMMIT without an answer it is unknown what is stored, and every unit is told so.
 */

/**
 * Runs work whose steps are committed together. It locks these rows with its first step. All of it may run again, and with
 * `isRepeatable` also if it may have been committed; see Database.
 */
export function commitTogether<T>(
  attempt: Attempt<Group>,
  rows: readonly string[],
  work: (transaction: GroupTransaction) => Promise<T>,
  isRepeatable = false,
): Promise<T> {
  let mayShare = true
  return attempt(async (access) => {
    for (;;) {
      const transaction = new GroupTransaction(access, rows, mayShare)
      try {
        const result = await work(transaction)
        await transaction.commit()
        return result
      } catch (error) {
        if (!(mayShare && error instanceof RolledBack)) throw error
      } finally {
        mayShare = false
        const left = transaction.leave()
        access.keepUntil(left)
        // A caller that has given up does not wait for the other units.
        if (!access.waiter.signal?.aborted) await left
      }
    }
  }, isRepeatable)
}

/** One attempt of a unit of work in a transaction that it may share: the transaction of `Store.once`. */
export class GroupTransaction extends Transaction {
  readonly #access: Access<Group>
  readonly #rows: readonly string[]
  readonly #mayShare: boolean
  #state: "apart" | "running" | "done" | "over" = "apart"
  #group: Group | undefined
  /** Whether a statement has run, so that the transaction may have locks of the unit. */
  #hasRun = false
  #hasWritten = false
  /** The changes that are made at the commit, or before the next statement if the work takes them as made already. */
  #deferred: Change[] = []
  #areTakenAsMade = false
  /** The statement that is running. Work whose caller has gone may still run one. */
  #active: Promise<unknown> = Promise.resolve()

  constructor(access: Access<Group>, rows: readonly string[], mayShare: boolean) {
    super()
    this.#access = access
    this.#rows = rows
    this.#mayShare = mayShare
  }

  protected get isOpen(): boolean {
    return this.#state === "apart" || this.#state === "running"
  }

  /** Runs a step of the work. Further rows can be named as long as nothing is written. */
  async run<T>(rows: readonly string[], work: (sql: Statements) => Promise<T>, options?: StepOptions): Promise<T> {
    await this.#alone(() => this.#join(rows, options))
    return work({
      read: async (statement, values) => (await this.#run(statement, values)).rows,
      write: async (statement, values, also = []) => {
        const { matched } = await this.#run(statement, values)
        this.#hasWritten ||= matched > 0
        if (matched > 0) this.#deferred.push(...also)
        return matched
      },
      change: (changes) => this.#change(changes),
    })
  }

  /** Makes a change just before the commit, by one statement with those of the other units. */
  async changeAtCommit(change: Change): Promise<void> {
    if (this.#group === undefined) await this.#alone(() => this.#join([], {}))
    this.#deferred.push(change)
  }

  /** Ends the work. Resolves when the transaction is committed; throws the signal's reason when it aborts first. */
  async commit(): Promise<void> {
    const { signal } = this.#access.waiter
    if (this.#group === undefined) return
    signal?.throwIfAborted()
    this.#state = "done"
    const committed = this.#group.end(this.#deferred, this.#areTakenAsMade)
    this.#access.keepUntil(committed)
    await orAborted(committed, signal)
  }

  /** Gives up work that is not done. Resolves when none of its changes and locks are left. */
  async leave(): Promise<void> {
    const wasOpen = this.isOpen
    this.#state = "over"
    await this.#active
    if (wasOpen) await this.#leaveGroup()
  }

  async #leaveGroup(): Promise<void> {
    const group = this.#group
    this.#group = undefined
    if (group === undefined) return
    // What has only read keeps its locks until the others have ended.
    if (this.#hasRun && !this.#hasWritten && group.done.length > 0) return group.end([], false).catch(() => {})
    if (this.#hasRun) await group.rollBack()
    group.pass()
  }

  async #join(further: readonly string[], { isLong = false, readsBefore = false }: StepOptions = {}): Promise<void> {
    let isStale = false
    const rows = [...this.#rows, ...further]
    if (this.#access.needs(rows)) {
      if (this.#hasWritten || this.#deferred.length > 0) throw new Error("a row was named after a write")
      await this.#leaveGroup()
      isStale = (await this.#access.lock(rows)) && readsBefore
    }
    if (this.#group !== undefined) return
    this.#hasRun = false
    this.#group = await this.#access.join(this.#mayShare && !isLong && !isStale)
    this.#group.enter(this.#access.waiter)
    if (this.#state === "apart") this.#state = "running"
  }

  async #change(changes: readonly Change[]): Promise<void> {
    if (changes.length === 0) return
    if (this.#group?.state === "open") {
      this.#access.waiter.signal?.throwIfAborted()
      this.#deferred.push(...changes)
      this.#areTakenAsMade = true
      return
    }
    // The changes of earlier statements come first, so that the events of a row stay in order.
    await this.#statement((group, signal) => group.make([...this.#deferred.splice(0), ...changes], signal))
    this.#hasWritten = true
  }

  #run<Values>({ sql, cells }: Statement<Values>, values: Values): Promise<Result> {
    return this.#statement((group, signal) => group.run(sql, cells(values), signal))
  }

  /** Runs something on the transaction. If it fails, all of the transaction is rolled back, and the work may continue in a new one. */
  #statement<T>(statement: (group: Group, signal?: AbortSignal) => Promise<T>): Promise<T> {
    return this.#alone(async () => {
      const { signal } = this.#access.waiter
      const group = this.#group as Group
      signal?.throwIfAborted()
      this.#hasRun = true
      try {
        if (this.#areTakenAsMade) {
          this.#areTakenAsMade = false
          // A failure belongs to an earlier change, not to the statement that the work runs now.
          await group.make(this.#deferred.splice(0), signal).catch(() => Promise.reject(new RolledBack()))
          this.#hasWritten = true
        }
        return await statement(group, signal)
      } catch (error) {
        this.#hasWritten = false
        this.#deferred = []
        await group.rollBack()
        throw error
      }
    })
  }

  #alone<T>(step: () => Promise<T>): Promise<T> {
    if (!this.isOpen) return Promise.reject(new Error("the unit of work is over"))
    const result = step()
    this.#active = result.catch(() => {})
    return result
  }
}
