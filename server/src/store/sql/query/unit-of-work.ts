import { orAborted } from "../../../util/abort.js"
import type { Waiter } from "../../store.js"
import type { SqlEngine } from "../engine/engine.js"
import { Lease } from "../engine/lease.js"
import { failsBy, storeError } from "../engine/statement-error.js"
import { queue } from "./queue.js"
import type { Backoff } from "./retry.js"
import { turns } from "./row-turns.js"
import { gate, type Kind } from "./semaphore.js"

export interface UnitOptions {
  /** How many units of work may wait. */
  queueLimit: number
  backoff: Backoff
}

export interface UnitOfWork extends Waiter {
  readonly kind: Kind
  /** Names the rows that it writes or that its foreign keys lock: none twice at the same time. */
  readonly rows: readonly string[]
}

/**
 * Runs something on the connection of the unit of work, as often as it conflicts with others; see Backoff. While it
 * waits to try again it has neither a place nor a connection, so that others can work.
 */
export type Attempt = <T>(once: (lease: Lease) => Promise<T>) => Promise<T>

export interface UnitsOfWork {
  /** Gives the work its place and a connection. What it throws comes out as a store's error. */
  run<T>(unit: UnitOfWork, work: (attempt: Attempt) => Promise<T>): Promise<T>
  /** The same for work that has a connection of its own. */
  alone<T>(work: () => Promise<T>): Promise<T>
  /** Rejects those who wait and all who come. */
  close(): void
}

/** Where there is one lock for everything, everybody who writes waits for it in one line. */
const everything = ["everything"]

const fewOf = (places: number): number => Math.max(1, Math.floor(places / 5))

/** How many of so many places writers may have. */
export const writersOf = (places: number): number => Math.max(1, places - fewOf(places))

/** How many of those who may wait may do so for one row: a tenth, or all where they are few. */
export const rowWaitersOf = (queueLimit: number): number =>
  Math.max(Math.ceil(queueLimit / 10), Math.min(queueLimit, 16))

export function unitsOfWork(engine: SqlEngine, { queueLimit, backoff }: UnitOptions): UnitsOfWork {
  const waiting = queue(queueLimit)
  const { concurrency: places } = engine
  // However many different rows are locked: readers have places that writers cannot take, and those who have met a lock
  // once leave most of the others' places to those who have not.
  const few = fewOf(places)
  const entrance = gate(waiting, { places, writers: writersOf(places) })
  const again = gate(waiting, { places: few, writers: few })
  const rowTurns = turns(waiting, engine.locksRows ? rowWaitersOf(queueLimit) : queueLimit)

  async function enter({ kind, signal, aside = (waited) => waited }: UnitOfWork, isAgain: boolean): Promise<Place> {
    if (isAgain) await aside(again.enter(kind, signal))
    const lease = new Lease(engine)
    const leave = async () => {
      // Also after an abort the place stays taken until the connection that was being made has come and gone.
      await lease.close()
      entrance.leave(kind)
      if (isAgain) again.leave(kind)
    }
    try {
      await entrance.enter(kind, signal)
    } catch (error) {
      if (isAgain) again.leave(kind)
      throw error
    }
    return { lease, leave }
  }

  return {
    async run(unit, work) {
      const { kind, rows, signal } = unit
      const locked = engine.locksRows ? rows : everything
      const endTurn = kind === "read" ? undefined : await rowTurns.take(locked, unit)
      let place: Place | undefined
      const leave = async () => {
        const left = place
        place = undefined
        await left?.leave()
      }
      try {
        return await work((once) =>
          backoff(unit, async (tries) => {
            if (place === undefined) {
              place = await enter(unit, tries > 1)
              await orAborted(place.lease.open(), signal)
            }
            try {
              return await once(place.lease)
            } catch (error) {
              if (failsBy(error, "conflict") || failsBy(error, "locked")) await leave()
              throw error
            }
          }),
        )
      } catch (error) {
        throw storeError(error)
      } finally {
        leave().finally(endTurn)
      }
    },

    async alone(work) {
      await entrance.enter("write", undefined)
      try {
        return await work()
      } catch (error) {
        throw storeError(error)
      } finally {
        entrance.leave("write")
      }
    },

    close: waiting.close,
  }
}

interface Place {
  readonly lease: Lease
  leave(): Promise<void>
}
