import type { Waiter } from "../../store.js"
import type { Line, Queue } from "./queue.js"

/**
 * One mutex for each row that this process writes. So writers that wait for a transaction outside of this process hold one
 * connection of the pool and not all of them, and the writers of this process never conflict with each other.
 */
export interface RowMutexes {
  /** Whether one of these rows is locked now. */
  areLocked(rows: readonly string[]): boolean
  /**
   * Locks all of these rows, and waits where one is locked, in the order of arrival.
   *
   * @returns The function that unlocks them. Throws as Line.wait does.
   */
  lock(rows: readonly string[], waiter: Waiter): Promise<() => void>
}

/** @param maxWaiters The most waiters for one row. The rest of the queue stays free for the waiters of other rows. */
export function rowMutexes(queue: Queue, maxWaiters: number): RowMutexes {
  /** The locked rows, each with the tenant that has locked it without waiting, and its line of waiters if there are any. */
  const locked = new Map<string, { readonly by: Waiter["ofTenant"]; line?: Line }>()

  const unlock = (rows: readonly string[]): void => {
    for (const row of rows) if (locked.get(row)?.line?.admit() === undefined) locked.delete(row)
  }

  function lineFor(row: string): Line | undefined {
    const lock = locked.get(row)
    if (lock === undefined || lock.line !== undefined) return lock?.line
    lock.line = queue.line(maxWaiters)
    lock.line.passed(lock.by)
    return lock.line
  }

  return {
    areLocked: (rows) => rows.some((row) => locked.has(row)),

    async lock(rows, waiter) {
      const { signal } = waiter
      signal?.throwIfAborted()
      queue.throwIfClosed()
      // Every writer locks in the same order, so that no two of them wait for each other.
      const ordered = rows.length > 1 ? [...new Set(rows)].sort() : rows
      for (const [index, row] of ordered.entries()) {
        const line = lineFor(row)
        if (line === undefined) {
          locked.set(row, { by: waiter.ofTenant })
          continue
        }
        try {
          await line.wait(waiter, undefined)
        } catch (error) {
          unlock(ordered.slice(0, index))
          throw error
        }
      }
      return () => unlock(ordered)
    },
  }
}

/** The rows that one unit of work has locked. */
export interface HeldRows {
  /** Whether one of these rows is not locked by the unit. */
  lack(rows: readonly string[]): boolean
  /**
   * Locks further rows. All rows are locked in one order and outside of any transaction, so that no two units wait for each other.
   * The rows that are locked are therefore unlocked first. Returns whether it had to wait.
   */
  lock(rows: readonly string[]): Promise<boolean>
  unlock(): void
}

/** @param namesOf the names that rows have in the mutexes. */
export function heldRows(
  mutexes: RowMutexes,
  waiter: Waiter,
  namesOf: (rows: readonly string[]) => readonly string[],
): HeldRows {
  let names: ReadonlySet<string> = new Set()
  let unlock = () => {}
  const missing = (rows: readonly string[]) => namesOf(rows).filter((row) => !names.has(row))
  return {
    lack: (rows) => missing(rows).length > 0,
    async lock(rows) {
      const all = [...names, ...missing(rows)]
      const isWaiting = mutexes.areLocked(missing(rows))
      unlock()
      unlock = () => {}
      names = new Set()
      unlock = await mutexes.lock(all, waiter)
      names = new Set(all)
      return isWaiting
    },
    unlock: () => unlock(),
  }
}
