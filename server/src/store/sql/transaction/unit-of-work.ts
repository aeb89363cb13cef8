import { ROOT_CONTEXT, trace } from "@opentelemetry/api"
import { orAborted } from "../../../util/abort.js"
import type { Waiter } from "../../store.js"
import type { SqlEngine } from "../engine/engine.js"
import { Lease } from "../engine/lease.js"
import type { DatabaseLoad, Observation } from "../engine/observer.js"
import { failsBy, StatementError, storeError } from "../engine/statement-error.js"
import { groupCommit, type Member, type Place, Undone } from "./group-commit.js"
import { queue } from "./queue.js"
import type { Backoff } from "./retry.js"
import { turns } from "./row-turns.js"
import { gate, type Kind } from "./semaphore.js"

export interface UnitOptions {
  /** How many units of work may wait. */
  queueLimit: number
  backoff: Backoff
  observation?: Observation
}

export interface UnitOfWork extends Waiter {
  readonly kind: Kind
  /** Names the rows that it writes or that its foreign keys lock, or of a read what takes turns: none twice at the same time. */
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
  /**
   * The same for work that names its rows only on its way. All of it runs again when it conflicts with others, and on
   * another member of a cluster when its connection is lost; its turns stay its own meanwhile, until it names further
   * rows. What it commits it must not be able to commit twice.
   */
  onItsWay<T>(unit: Omit<UnitOfWork, "kind">, work: (enter: Enter) => Promise<T>): Promise<T>
  /** The same for work that has a connection of its own. */
  alone<T>(work: () => Promise<T>): Promise<T>
  load(): DatabaseLoad
  /** Rejects those who wait and all who come. */
  close(): void
}

/**
 * Takes the turns of these rows beside those that the work has, and lets it run statements. That is in another transaction
 * each time that the rows are new: everybody waits for all turns in one order, and outside of any transaction, so that no two
 * wait for each other. So the work first has its turns taken away, and leaves its transaction; `mayLeave` throws if it must not.
 */
export type Enter = (rows: readonly string[], mayLeave: () => void, options?: EnterOptions) => Promise<Member>

export interface EnterOptions {
  /** Whether the work may take long: then nobody else's is committed with it. */
  isLong?: boolean
  /**
   * Whether the work goes by what it read before it had its turns. If it had to wait for them that is most likely out of date, and
   * nobody else's is committed with it, which would be undone with it.
   */
  readsBefore?: boolean
}

/** Where there is one lock for everything, everybody who writes waits for it in one line. */
const everything = ["everything"]

/**
 * How many transactions there are before the next work waits to share one; those that are being committed do not count. Each more
 * makes those that are shared smaller, and the database has to work more. Whoever waits long begins another one anyway: see docs/decisions/0011-writes-that-may-be-repeated.md.
 */
const transactionsAtOnce = 1

const fewOf = (places: number): number => Math.max(1, Math.floor(places / 5))

/** How many of so many places writers may have. */
export const writersOf = (places: number): number => Math.max(1, places - fewOf(places))

/** How many of those who may wait may do so for one row: a tenth, or all where they are few. */
export const rowWaitersOf = (queueLimit: number): number =>
  Math.max(Math.ceil(queueLimit / 10), Math.min(queueLimit, 16))

export function unitsOfWork(engine: SqlEngine, { queueLimit, backoff, observation }: UnitOptions): UnitsOfWork {
  const waiting = queue(queueLimit)
  const { concurrency: places } = engine
  // However many different rows are locked: readers have places that writers cannot take, and those who have met a lock
  // once leave most of the others' places to those who have not.
  const few = fewOf(places)
  const entrance = gate(waiting, { places, writers: writersOf(places) })
  const again = gate(waiting, { places: few, writers: few })
  const groups = groupCommit({
    size: { limit: engine.lookups.limit, ahead: transactionsAtOnce },
    begin: engine.begin,
    queue: waiting,
  })
  const rowTurns = turns(waiting, engine.locksRows ? rowWaitersOf(queueLimit) : queueLimit)

  /** @param isAgain whether it has met a lock. Who only moves on to another member comes with all the others who do. */
  async function enter(unit: UnitOfWork, isAgain: boolean): Promise<Place> {
    const { kind, signal, aside = (waited) => waited } = unit
    if (isAgain) await aside(again.enter(kind, signal))
    const lease = new Lease(engine, observation, unit.spans)
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
      const turns = kind === "write" && !engine.locksRows ? everything : rows
      const endTurn = turns.length === 0 ? undefined : await rowTurns.take(turns, unit)
      let place: Place | undefined
      let hasMetLock = false
      const leave = async () => {
        const left = place
        place = undefined
        await left?.leave()
      }
      try {
        return await work((once) =>
          backoff(unit, async () => {
            let mayBeDone = false
            try {
              if (place === undefined) {
                const begun = performance.now()
                place = await enter(unit, hasMetLock)
                await orAborted(place.lease.open(), signal)
                waited(begun, unit, observation)
              }
              mayBeDone = kind === "write"
              return await once(place.lease)
            } catch (error) {
              const failure = engine.hasOtherMembers ? elsewhere(error, mayBeDone) : error
              hasMetLock ||= metLock(failure)
              if (isForAgain.some((one) => failsBy(failure, one))) await leave()
              throw failure
            }
          }),
        )
      } catch (error) {
        throw storeError(error)
      } finally {
        leave().finally(endTurn)
      }
    },

    async onItsWay(given, work) {
      const { rows } = given
      const unit: UnitOfWork = { ...given, kind: "write" }
      let taken: ReadonlySet<string> = new Set()
      let endTurns = () => {}
      const takeTurns = async (more: readonly string[]) => {
        const all = [...taken, ...more]
        endTurns()
        endTurns = () => {}
        taken = new Set()
        endTurns = await rowTurns.take(all, unit)
        taken = new Set(all)
      }
      let hasMetLock = false
      let isAlone = false
      /** When the transaction has ended in which the work is. */
      let ended: Promise<void> = Promise.resolve()
      const attempt = async () => {
        let member: Member | undefined
        const leave = async () => {
          const left = member
          member = undefined
          await left?.leave()
          if (left !== undefined) ended = left.ended
        }
        const enterOnce: Enter = async (more, mayLeave, { isLong = false, readsBefore = false } = {}) => {
          const turns = engine.locksRows ? [...rows, ...more] : everything
          const missing = turns.filter((row) => !taken.has(row))
          let isStale = false
          if (missing.length > 0) {
            if (member !== undefined) mayLeave()
            await leave()
            isStale = readsBefore && rowTurns.areTaken(missing)
            await takeTurns(missing)
          }
          if (member !== undefined) return member
          const begun = performance.now()
          const enterGate = () => enter(unit, hasMetLock)
          member = await groups.join(unit, enterGate, isAlone || isLong || isStale)
          waited(begun, unit, observation)
          return member
        }
        let entering: Promise<unknown> | undefined
        try {
          return await work((...asked) => {
            const entered = enterOnce(...asked)
            entering = entered.catch(() => {})
            return entered
          })
        } catch (error) {
          isAlone = true
          // What was committed although its answer was lost is not done twice: see the contract.
          const failure = engine.hasOtherMembers ? elsewhere(error, false) : error
          hasMetLock ||= metLock(failure)
          throw failure
        } finally {
          // Whoever gave up the work may have done so while it was on its way in.
          await entering
          await leave()
        }
      }
      const attemptAlone = async () => {
        try {
          return await attempt()
        } catch (error) {
          if (!(error instanceof Undone)) throw error
          return attempt()
        }
      }
      try {
        return await backoff(unit, attemptAlone)
      } catch (error) {
        throw storeError(error)
      } finally {
        // Who has given up after its work was done is still in the transaction of others, and so are its changes.
        ended.finally(endTurns)
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

    load: () => ({ places, active: entrance.inside, waiting: waiting.size }),

    close: waiting.close,
  }
}

const isForAgain = ["conflict", "locked", "moved"] as const

/** The failure as "moved" where nothing was done, and another member of the cluster may do it. */
function elsewhere(error: unknown, mayBeDone: boolean): unknown {
  const isUndone = failsBy(error, "read-only") || (failsBy(error, "unavailable") && !mayBeDone)
  return isUndone ? new StatementError("moved", error.message, error.code) : error
}

function metLock(failure: unknown): boolean {
  return failsBy(failure, "conflict") || failsBy(failure, "locked")
}

/** A shorter wait for a connection is none, and has no span: in milliseconds. */
const shortMs = 1

function waited(begun: number, { spans = [] }: UnitOfWork, { observer, tracer }: Observation = {}): void {
  const ms = performance.now() - begun
  observer?.waited(ms)
  if (ms < shortMs) return
  for (const span of spans) {
    const context = trace.setSpan(ROOT_CONTEXT, span)
    tracer?.startSpan("wait for a connection", { startTime: begun }, context).end()
  }
}
