import type { Span } from "@opentelemetry/api"
import { orAborted } from "../../../util/abort.js"
import type { Waiter } from "../../store.js"
import type { Result } from "../engine/engine.js"
import type { Lease } from "../engine/lease.js"
import { failsBy } from "../engine/statement-error.js"
import type { CoalesceOptions } from "../query/batch-loader.js"
import { type Cell, type Change, makeChanges } from "../query/statement.js"
import type { Queue } from "./queue.js"

/** A place among those who use the database. */
export interface Place {
  /** Whose connection is not open yet. */
  readonly lease: Lease
  leave(): Promise<void>
}

export interface GroupCommitOptions {
  /** How many pieces of work one transaction takes at the most, and how many transactions there are before the next work waits. */
  size: CoalesceOptions
  /** The statement that begins a transaction. */
  begin: string
  queue: Queue
}

/** A piece of work in a transaction that it may share with others. One of them runs statements at a time. */
export interface Member {
  read(sql: string, cells: Cell[]): Promise<Result>
  /** A statement that fails undoes the whole transaction. What its work does then is in a new one, which it has for itself. */
  write(sql: string, cells: Cell[]): Promise<Result>
  /**
   * Makes changes. Where the transaction is shared, that is by one statement with those of the others: when it is committed, or
   * before the next statement of this work. What fails at the commit undoes all, and is Undone.
   */
  change(changes: readonly Change[]): Promise<void>
  /** Makes a change when the transaction is committed, by one statement with those of the others. */
  changeLast(change: Change): void
  /** Lets the next one go on. Resolves when the transaction is committed, and throws the signal's reason when that comes first. */
  commit(): Promise<void>
  /** Resolves when the transaction has ended in which the work was to be committed; at once if it was not. */
  readonly ended: Promise<void>
  /**
   * Gives up what is not committed, and lets the next one go on. Resolves when nothing of it is there any more, also no lock.
   */
  leave(): Promise<void>
}

/** Whoever gets this does its work again, by itself: its transaction was undone, most often because of somebody else in it. */
export class Undone extends Error {}

/** Commits pieces of work together: see `groupCommit`. */
export interface GroupCommit {
  /**
   * Waits until the work may run statements.
   *
   * @param enter waits for a place, for a transaction that has none.
   * @param isAlone whether the work must not share a transaction.
   */
  join(waiter: Waiter, enter: () => Promise<Place>, isAlone: boolean): Promise<Member>
}

/** How long somebody waits, in milliseconds, before another transaction begins: those before it may be held up by a lock. */
const longestWaitMs = 5

/**
 * Lets pieces of work that come at the same time share a transaction: its beginning, its commit and the changes of one kind that
 * each makes cost as much for one as for many. Where few come, each has its own at once. While one is being committed the next one
 * begins.
 *
 * The work of one runs after that of the other, and their changes come at the end. A work finds its own in between, but
 * not those of another: works that name the same row take turns and are never in one transaction. When a statement fails, all is
 * undone, and those whose work was done run it again by themselves. Nobody hears of success before the database has committed.
 */
export function groupCommit({ size, begin, queue }: GroupCommitOptions): GroupCommit {
  const line = queue.line()
  /** The transactions that those may join who have been let go on, in their order; undefined: they begin one. */
  const admitted: (Group | undefined)[] = []
  /** How many transactions are shared, or may be, and are not being committed. */
  let active = 0
  /** How many transactions that are begun wait for a place. One more would come after them, so whoever waits may as well stay. */
  let entering = 0
  let isTimed = false

  function countBegun(): void {
    active++
    entering++
  }

  /** The first of those who wait begins a transaction. */
  function beginNext(): void {
    if (!line.admit()) return
    countBegun()
    admitted.push(undefined)
  }

  /** Lets those who wait begin as many transactions as there may be now. */
  function admitNext(): void {
    while (line.size > 0 && active < size.ahead) beginNext()
    hurryLater()
  }

  /** Begins another one when somebody has waited for long, but no sooner than after this pause. */
  function hurryLater(pauseMs = 0): void {
    if (isTimed || line.size === 0) return
    isTimed = true
    const waitedMs = () => performance.now() - line.since
    const hurry = () => {
      isTimed = false
      const isLate = waitedMs() >= longestWaitMs
      if (isLate && entering === 0) beginNext()
      hurryLater(isLate ? longestWaitMs : 0)
    }
    setTimeout(hurry, Math.max(longestWaitMs - waitedMs(), pauseMs))
  }

  class Group {
    readonly #lease: Lease
    readonly #leavePlace: () => Promise<void>
    readonly #most: number
    #members = 0
    /** Those whose work is done. */
    #done: { resolve(): void; reject(reason: unknown): void }[] = []
    #last: Change[] = []
    /** Whether what fails at the commit may be a change of the work itself, which has not heard of it. */
    #hasLateChanges = false
    #inTransaction = false
    #isClosed = false
    readonly #spans: Span[] = []
    /** Whether it counts among those that are active. */
    #isActive: boolean

    constructor({ lease, leave }: Place, isAlone: boolean) {
      this.#lease = lease
      this.#leavePlace = leave
      this.#isActive = !isAlone
      this.#most = isAlone ? 1 : size.limit
    }

    add({ signal, spans = [] }: Waiter): Member {
      this.#members++
      this.#spans.push(...spans)
      this.#lease.spans = spans
      const late: Change[] = []
      let hasRun = false
      let hasWritten = false
      let isOver = false
      /** Whether some of them are made as far as the work knows: its next statement must find them. */
      let hasLateChanges = false
      let ended: Promise<void> = Promise.resolve()
      const running = async <T>(statements: () => Promise<T>): Promise<T> => {
        signal?.throwIfAborted()
        hasRun = true
        try {
          return await statements()
        } catch (error) {
          hasWritten = false
          hasLateChanges = false
          late.length = 0
          await this.#undo()
          throw error
        }
      }
      const makeLate = async () => {
        hasLateChanges = false
        try {
          await this.#make(late.splice(0))
          hasWritten = true
        } catch {
          // The statement that comes now is not the one that failed.
          throw new Undone()
        }
      }
      const run = (sql: string, cells: Cell[]) =>
        running(async () => {
          if (hasLateChanges) await makeLate()
          return this.#run(sql, cells)
        })
      return {
        read: run,
        write: async (sql, cells) => {
          const result = await run(sql, cells)
          hasWritten ||= result.matched > 0
          return result
        },
        change: async (changes) => {
          if (changes.length === 0) return
          if (this.#most > 1) {
            signal?.throwIfAborted()
            late.push(...changes)
            hasLateChanges = true
            return
          }
          // Those of earlier statements first: the events of a row stay in order.
          await running(() => this.#make([...late.splice(0), ...changes]))
          hasWritten = true
        },
        changeLast: (change) => late.push(change),
        get ended() {
          return ended
        },
        commit: async () => {
          signal?.throwIfAborted()
          isOver = true
          this.#last.push(...late)
          this.#hasLateChanges ||= hasLateChanges
          const committed = new Promise<void>((resolve, reject) => this.#done.push({ resolve, reject }))
          ended = committed.catch(() => {})
          this.#goOn()
          await orAborted(committed, signal)
        },
        leave: async () => {
          if (isOver) return
          isOver = true
          if (hasRun && !hasWritten && this.#done.length > 0) {
            // Its locks go with the transaction of the others.
            const ended = new Promise<void>((resolve) => this.#done.push({ resolve, reject: () => resolve() }))
            this.#goOn()
            await ended
            return
          }
          if (hasRun) await this.#undo()
          this.#goOn()
        },
      }
    }

    async #run(sql: string, cells: Cell[]): Promise<Result> {
      if (!this.#inTransaction) {
        await this.#lease.read(begin)
        this.#inTransaction = true
      }
      return this.#lease.connection.run(sql, cells)
    }

    #make(changes: readonly Change[]): Promise<void> {
      return makeChanges(changes, (sql, cells) => this.#run(sql, cells))
    }

    /**
     * Undoes what all have done, none of which was committed: those whose work was done hear of it. Whoever is in the transaction
     * now may go on in another one. Nobody joins it then, because the connection may be lost.
     */
    async #undo(failure: unknown = new Undone()): Promise<void> {
      this.#isClosed = true
      const done = this.#done
      this.#done = []
      this.#last = []
      if (this.#inTransaction) {
        this.#inTransaction = false
        const { connection } = this.#lease
        await connection.run("ROLLBACK").catch(() => connection.discard())
      }
      for (const { reject } of done) reject(failure)
    }

    #goOn(): void {
      if (!this.#isClosed && this.#members < this.#most && line.admit()) admitted.push(this)
      else this.#end()
    }

    async #end(): Promise<void> {
      this.#isClosed = true
      this.#lease.spans = this.#spans
      let isCommitting = false
      try {
        await this.#make(this.#last)
        isCommitting = true
        // The database writes its log meanwhile, and may ask its replicas.
        this.#letNextBegin()
        if (this.#inTransaction) await this.#lease.connection.run("COMMIT")
        this.#inTransaction = false
        for (const { resolve } of this.#done) resolve()
      } catch (error) {
        // After a COMMIT without an answer nobody knows what is stored, and all are told so.
        const isUnknown = isCommitting && !failsBy(error, "conflict")
        const isOwn = this.#done.length === 1 && !this.#hasLateChanges
        await this.#undo(isUnknown || isOwn ? error : undefined)
      }
      await this.#leavePlace()
      this.#letNextBegin()
    }

    #letNextBegin(): void {
      if (this.#isActive) active--
      this.#isActive = false
      admitNext()
    }
  }

  return {
    async join(waiter, enter, isAlone) {
      // What may take long does not count: nobody who shares waits for it.
      if (!isAlone && active < size.ahead) countBegun()
      else if (!isAlone) {
        const waited = line.wait(waiter.signal)
        hurryLater()
        await waited
        const group = admitted.shift()
        if (group !== undefined) return group.add(waiter)
      }
      let place: Place | undefined
      try {
        place = await enter().finally(() => {
          if (!isAlone) entering--
        })
        await orAborted(place.lease.open(), waiter.signal)
        return new Group(place, isAlone).add(waiter)
      } catch (error) {
        await place?.leave()
        if (!isAlone) active--
        admitNext()
        throw error
      }
    },
  }
}
