import { orAborted } from "../../../util/abort.js"
import { Transaction, type Waiter } from "../../store.js"
import type { Result } from "../engine/engine.js"
import type { Cell, Change, Statement, Statements } from "../query/statement.js"
import { StatementError } from "../query/statement-error.js"
import { type Group, RolledBack } from "./group.js"
import type { HeldRows } from "./row-mutexes.js"

/*
 * Group commit: calls that write at the same time share a transaction, because BEGIN, COMMIT and a statement for changes of one kind
 * cost as much for one call as for many. Under little load each has a transaction of its own at once. Units of work that name the same
 * row are never in one transaction. Success is reported only after the database has committed.
 *
 * A unit (class GroupTransaction) is in one of these states, and its transaction (class Group) in one of those in group.ts:
 *
 *   waiting     it has no transaction                   running: it joins one
 *   running     its work runs statements                running: it names further rows: it leaves, locks them and joins again
 *                                                       done: its work ends with success;  over: with a failure, or it gave up
 *   done        it waits for the commit                 over: with the outcome of the transaction
 *
 * The failure of a transaction is RolledBack for each unit that was done, unless only this unit can have caused it. Such a unit runs
 * again at once by itself. After a COMMIT without an answer it is unknown what is stored, and every unit is told so.
 */

/** What a unit of work has. */
export interface Unit {
  readonly waiter: Waiter
  readonly rows: HeldRows
  /** Joins a transaction of several units, or begins one. */
  join(isAlone: boolean): Promise<Group>
}

/** One attempt of a unit of work in a transaction that it may share. */
export class GroupTransaction extends Transaction implements Statements {
  readonly #unit: Unit
  /** The rows that the first step locks. */
  readonly #rows: readonly string[]
  #state: "waiting" | "running" | "done" | "over" = "waiting"
  #group: Group | undefined
  /** Whether a statement has run, so that the transaction may have locks of the unit. */
  #hasRun = false
  #hasWritten = false
  /** Whether something that was written has been rolled back, because a later statement has failed. */
  #hasLost = false
  /** The changes that are made at the commit, or before the next statement if the work takes them as made already. */
  #deferred: Change[] = []
  #areTakenAsMade = false
  /** The statement that is running. Work whose caller has gone may still run one. */
  #active: Promise<unknown> = Promise.resolve()
  #committed: Promise<void> | undefined

  constructor(unit: Unit, rows: readonly string[]) {
    super()
    this.#unit = unit
    this.#rows = rows
  }

  protected get isOpen(): boolean {
    return this.#state === "waiting" || this.#state === "running"
  }

  async read<Values>(statement: Statement<Values>, values: Values): Promise<Cell[][]> {
    return (await this.#run(statement, values)).rows
  }

  async write<Values>(statement: Statement<Values>, values: Values, also: readonly Change[] = []): Promise<number> {
    const { matched } = await this.#run(statement, values)
    this.#hasWritten ||= matched > 0
    if (matched > 0) this.#deferred.push(...also)
    return matched
  }

  async change(changes: readonly Change[]): Promise<void> {
    if (changes.length === 0) return
    await this.lock([])
    if (this.#group?.state === "open") {
      this.#unit.waiter.signal?.throwIfAborted()
      this.#deferred.push(...changes)
      this.#areTakenAsMade = true
      return
    }
    // The changes of earlier statements come first, so that the events of a row stay in order.
    await this.#statement((group, signal) => group.make([...this.#deferred.splice(0), ...changes], signal))
    this.#hasWritten = true
  }

  /** Makes a change just before the commit, by one statement with those of the other units. */
  async changeAtCommit(change: Change): Promise<void> {
    await this.lock([])
    this.#deferred.push(change)
  }

  /** Locks further rows for the next step of the work. They can be named as long as nothing is written. */
  lock(rows: readonly string[]): Promise<void> {
    return this.#inTurn(() => this.#join(rows))
  }

  /** Ends the work. Resolves when the transaction is committed; throws the signal's reason when it aborts first. */
  async commit(): Promise<void> {
    const { signal } = this.#unit.waiter
    if (this.#group === undefined) return
    signal?.throwIfAborted()
    if (this.#hasLost) throw new StatementError("fault", "the work has gone on after its writes were rolled back")
    this.#state = "done"
    this.#committed = this.#group.end(this.#deferred, this.#areTakenAsMade)
    await orAborted(this.#committed, signal)
  }

  /** Gives up work that is not done. Resolves when none of its changes and locks are left. */
  async leave(): Promise<void> {
    const wasOpen = this.isOpen
    this.#state = "over"
    await this.#active
    if (wasOpen) await this.#leaveGroup()
    await this.#committed?.catch(() => {})
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

  async #join(further: readonly string[]): Promise<void> {
    let hasWaited = false
    const rows = [...this.#rows, ...further]
    if (this.#unit.rows.lack(rows)) {
      if (this.#hasWritten || this.#deferred.length > 0) throw new Error("a row was named after a write")
      await this.#leaveGroup()
      // What the work has read before is probably out of date, so that it is going to fail, and the others with it.
      hasWaited = await this.#unit.rows.lock(rows)
    }
    if (this.#group !== undefined) return
    this.#hasRun = false
    this.#group = await this.#unit.join(hasWaited)
    this.#group.enter(this.#unit.waiter)
    if (this.#state === "waiting") this.#state = "running"
  }

  async #run<Values>({ sql, cells }: Statement<Values>, values: Values): Promise<Result> {
    await this.lock([])
    return this.#statement((group, signal) => group.run(sql, cells(values), signal))
  }

  /** Runs something on the transaction. If it fails, all of the transaction is rolled back. Work that has not written may continue. */
  #statement<T>(statement: (group: Group, signal?: AbortSignal) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      const { signal } = this.#unit.waiter
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
        this.#hasLost ||= this.#hasWritten
        this.#hasWritten = false
        this.#deferred = []
        await group.rollBack()
        throw error
      }
    })
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    if (!this.isOpen) return Promise.reject(new Error("the unit of work is over"))
    const result = step()
    this.#active = result.catch(() => {})
    return result
  }
}
