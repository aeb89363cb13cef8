import type { Span } from "@opentelemetry/api"
import { orAborted } from "../../../util/abort.js"
import type { Waiter } from "../../store.js"
import type { Result } from "../engine/engine.js"
import type { Lease } from "../engine/lease.js"
import type { CoalesceOptions } from "../query/batch-loader.js"
import { type Cell, type Change, makeChanges } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import type { Queue } from "./queue.js"

export interface GroupCommitOptions {
  /** The most participants of one transaction, and how many transactions run before further work waits. */
  size: CoalesceOptions
  /** The statement that begins a transaction. */
  begin: string
  queue: Queue
}

/** One unit of work in a transaction that it may share with others. Only one of them runs statements at a time. */
export interface Participant {
  read(sql: string, cells: Cell[]): Promise<Result>
  /** Runs a statement. If it fails, the whole transaction is rolled back, and the work continues in a new one that it does not share. */
  write(sql: string, cells: Cell[]): Promise<Result>
  /**
   * Makes changes. In a shared transaction they are made together with those of the other participants by one statement, at the
   * commit or before the next statement of this work. A change that fails at the commit rolls back everything, as RolledBack.
   */
  change(changes: readonly Change[]): Promise<void>
  /** Makes a change at the commit, by one statement with those of the other participants. */
  changeAtCommit(change: Change): void
  /** Ends the work. Resolves when the transaction is committed; throws the signal's reason when it aborts first. */
  commit(): Promise<void>
  /** Resolves when the transaction has ended in which the work was committed; at once if there is none. */
  readonly ended: Promise<void>
  /** Gives up work that is not committed. Resolves when none of its changes and locks are left. */
  leave(): Promise<void>
}

/**
 * The failure of work whose transaction was rolled back, most often because of another participant. The work has to run again, in
 * a transaction that it does not share.
 */
export class RolledBack extends Error {}

/** Commits several units of work together: see `groupCommit`. */
export interface GroupCommit {
  /**
   * Waits until the work may run statements.
   *
   * @param acquire Waits for the lease of a new transaction. It is not open yet.
   * @param isExclusive Whether the work must not share its transaction.
   */
  join(waiter: Waiter, acquire: () => Promise<Lease>, isExclusive: boolean): Promise<Participant>
}

/**
 * The longest time that work waits before another transaction begins, in milliseconds. The transactions before it may be blocked by
 * a lock.
 */
const longestWaitMs = 5

/**
 * Lets units of work that come at the same time share a transaction, because BEGIN, COMMIT and a statement for changes of one kind
 * cost as much for one unit as for many. Under little load each unit has a transaction of its own at once. The next transaction
 * begins while the one before it is being committed.
 *
 * Participants run one after the other, and their changes are made at the end. A participant reads its own changes, but not those of
 * the others: units that name the same row are never in one transaction. When a statement fails, all of the transaction is rolled back, and the
 * participants whose work was done run it again by themselves. Success is reported only after the database has committed.
 */
export function groupCommit({ size, begin, queue }: GroupCommitOptions): GroupCommit {
  const line = queue.line()
  /** The transactions that admitted waiters join, in the order of admission; undefined where the waiter begins one. */
  const admitted: (Group | undefined)[] = []
  /** The number of transactions that are shared, or may be, and are not being committed. */
  let active = 0
  /** How many of them wait for a lease. Another one would get its lease later than those, so waiters stay in the line. */
  let acquiring = 0
  let isTimed = false

  function countBegun(): void {
    active++
    acquiring++
  }

  /** Lets the first waiter begin a transaction. */
  function beginNext(): void {
    if (!line.admit()) return
    countBegun()
    admitted.push(undefined)
  }

  /** Lets waiters begin as many transactions as there may be now. */
  function admitNext(): void {
    while (line.size > 0 && active < size.ahead) beginNext()
    scheduleExtra()
  }

  /** Schedules another transaction for when the first waiter has waited for the longest time, but not before this pause. */
  function scheduleExtra(pauseMs = 0): void {
    if (isTimed || line.size === 0) return
    isTimed = true
    const waitedMs = () => performance.now() - line.since
    const beginExtra = () => {
      isTimed = false
      const isLate = waitedMs() >= longestWaitMs
      if (isLate && acquiring === 0) beginNext()
      scheduleExtra(isLate ? longestWaitMs : 0)
    }
    setTimeout(beginExtra, Math.max(longestWaitMs - waitedMs(), pauseMs))
  }

  class Group {
    readonly #lease: Lease
    readonly #maxParticipants: number
    #participants = 0
    /** The participants whose work is done. */
    #done: { resolve(): void; reject(reason: unknown): void }[] = []
    #changesAtCommit: Change[] = []
    /** Whether a failure at the commit may come from a change that its work takes as made already. */
    #hasDeferredChanges = false
    #inTransaction = false
    #isClosed = false
    readonly #spans: Span[] = []
    /** Whether it counts among the active transactions. */
    #isActive: boolean

    constructor(lease: Lease, isExclusive: boolean) {
      this.#lease = lease
      this.#isActive = !isExclusive
      this.#maxParticipants = isExclusive ? 1 : size.limit
    }

    add({ signal, spans = [] }: Waiter): Participant {
      this.#participants++
      this.#spans.push(...spans)
      this.#lease.spans = spans
      const deferred: Change[] = []
      let hasRun = false
      let hasWritten = false
      let isOver = false
      /** Whether the work takes some of the deferred changes as made already: its next statement must find them. */
      let mustMakeDeferred = false
      let ended: Promise<void> = Promise.resolve()
      const running = async <T>(statements: () => Promise<T>): Promise<T> => {
        signal?.throwIfAborted()
        hasRun = true
        try {
          return await statements()
        } catch (error) {
          hasWritten = false
          mustMakeDeferred = false
          deferred.length = 0
          await this.#rollBack()
          throw error
        }
      }
      const makeDeferred = async () => {
        mustMakeDeferred = false
        try {
          await this.#make(deferred.splice(0), signal)
          hasWritten = true
        } catch {
          // The failure belongs to an earlier change, not to the statement that the work runs now.
          throw new RolledBack()
        }
      }
      const run = (sql: string, cells: Cell[]) =>
        running(async () => {
          if (mustMakeDeferred) await makeDeferred()
          return this.#run(sql, cells, signal)
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
          if (this.#maxParticipants > 1) {
            signal?.throwIfAborted()
            deferred.push(...changes)
            mustMakeDeferred = true
            return
          }
          // The changes of earlier statements come first, so that the events of a row stay in order.
          await running(() => this.#make([...deferred.splice(0), ...changes], signal))
          hasWritten = true
        },
        changeAtCommit: (change) => deferred.push(change),
        get ended() {
          return ended
        },
        commit: async () => {
          signal?.throwIfAborted()
          isOver = true
          this.#changesAtCommit.push(...deferred)
          this.#hasDeferredChanges ||= mustMakeDeferred
          const committed = new Promise<void>((resolve, reject) => this.#done.push({ resolve, reject }))
          ended = committed.catch(() => {})
          this.#continue()
          await orAborted(committed, signal)
        },
        leave: async () => {
          if (isOver) return
          isOver = true
          if (hasRun && !hasWritten && this.#done.length > 0) {
            // Its locks are released with the transaction of the other participants.
            const ended = new Promise<void>((resolve) => this.#done.push({ resolve, reject: () => resolve() }))
            this.#continue()
            await ended
            return
          }
          if (hasRun) await this.#rollBack()
          this.#continue()
        },
      }
    }

    /** @param signal Ends the wait for a connection. Default: none, for statements of several participants. */
    async #run(sql: string, cells: Cell[], signal?: AbortSignal): Promise<Result> {
      if (!this.#inTransaction) {
        await this.#lease.read(begin, undefined, signal)
        this.#inTransaction = true
      }
      return this.#lease.connection.run(sql, cells)
    }

    #make(changes: readonly Change[], signal?: AbortSignal): Promise<void> {
      return makeChanges(changes, (sql, cells) => this.#run(sql, cells, signal))
    }

    /**
     * Rolls back what all participants have done and rejects those whose work was done. The participant that is running may continue
     * in another transaction on the same connection. Nobody joins that one, because the connection may be lost.
     */
    async #rollBack(failure: unknown = new RolledBack()): Promise<void> {
      this.#isClosed = true
      const done = this.#done
      this.#done = []
      this.#changesAtCommit = []
      if (this.#inTransaction) {
        this.#inTransaction = false
        const { connection } = this.#lease
        await connection.run("ROLLBACK").catch(() => connection.discard())
      }
      for (const { reject } of done) reject(failure)
    }

    /** Admits the next participant, or commits. */
    #continue(): void {
      if (!this.#isClosed && this.#participants < this.#maxParticipants && line.admit()) admitted.push(this)
      else this.#end()
    }

    async #end(): Promise<void> {
      this.#isClosed = true
      this.#lease.spans = this.#spans
      let isCommitting = false
      try {
        await this.#make(this.#changesAtCommit)
        isCommitting = true
        // Meanwhile the database writes its log, and may wait for its replicas.
        this.#letNextBegin()
        if (this.#inTransaction) await this.#lease.connection.run("COMMIT")
        this.#inTransaction = false
        for (const { resolve } of this.#done) resolve()
      } catch (error) {
        // After a COMMIT without an answer it is unknown what is stored, and every participant is told so.
        const isUnknown = isCommitting && !failsBy(error, "conflict")
        const isOwn = this.#done.length === 1 && !this.#hasDeferredChanges
        await this.#rollBack(isUnknown || isOwn ? error : undefined)
      }
      await this.#lease.close()
      this.#letNextBegin()
    }

    #letNextBegin(): void {
      if (this.#isActive) active--
      this.#isActive = false
      admitNext()
    }
  }

  return {
    async join(waiter, acquire, isExclusive) {
      // An exclusive transaction may take long and is not counted, so that no shared one waits for it.
      if (!isExclusive && active < size.ahead) countBegun()
      else if (!isExclusive) {
        const waited = line.wait(waiter.signal)
        scheduleExtra()
        await waited
        const group = admitted.shift()
        if (group !== undefined) return group.add(waiter)
      }
      let lease: Lease | undefined
      try {
        lease = await acquire().finally(() => {
          if (!isExclusive) acquiring--
        })
        await lease.open(waiter.signal)
        return new Group(lease, isExclusive).add(waiter)
      } catch (error) {
        // Not awaited: a connection that is still being opened must not delay a call that has given up.
        lease?.close()
        if (!isExclusive) active--
        admitNext()
        throw error
      }
    },
  }
}
