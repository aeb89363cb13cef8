import type { Waiter } from "../../store.js"
import type { Line, Queue } from "./queue.js"

/**
 * Writers of one row take turns. So those that another transaction keeps waiting hold one place of the pool and not all, and
 * those of this process never conflict with each other.
 */
export interface Turns {
  /** Whether who takes the turns of these rows now has to wait for one of them. */
  areTaken(rows: readonly string[]): boolean
  /**
   * Waits for the turns of all rows.
   *
   * @returns what ends the turns. Throws as a Line does.
   */
  take(rows: readonly string[], waiter: Waiter): Promise<() => void>
}

/** @param most how many may wait for one row: the others who wait for the database have the rest of the queue. */
export function turns(queue: Queue, most: number): Turns {
  /** Whose turn somebody has, and those who wait for it, if there are any. */
  const taken = new Map<string, Line | undefined>()

  const end = (rows: readonly string[]): void => {
    for (const row of rows) if (!taken.get(row)?.admit()) taken.delete(row)
  }

  return {
    areTaken: (rows) => rows.some((row) => taken.has(row)),

    async take(rows, { signal, aside }) {
      signal?.throwIfAborted()
      queue.throwIfClosed()
      // All take them in one order, so that no two of them wait for each other.
      const ordered = rows.length > 1 ? [...new Set(rows)].sort() : rows
      for (const [index, row] of ordered.entries()) {
        if (!taken.has(row)) {
          taken.set(row, undefined)
          continue
        }
        const line = taken.get(row) ?? queue.line(most)
        taken.set(row, line)
        try {
          const waited = line.wait(signal)
          await (aside === undefined ? waited : aside(waited))
        } catch (error) {
          end(ordered.slice(0, index))
          throw error
        }
      }
      return () => end(ordered)
    },
  }
}
