import type { Caller } from "../store.js"
import type { EventIds, EventKind } from "../types.js"
import type { Database } from "./database.js"
import type { Bound, Statement } from "./query/statement.js"
import type { EventRow } from "./schema/entities.js"

/**
 * The INSERT of an event, for the write that it tells of; undefined where no events are kept.
 *
 * @param ids of things that have been written; they may be unknown.
 */
export type EventOf = (caller: Caller, kind: EventKind, ids?: EventIds) => Bound | undefined

export interface EventRows {
  readonly one: EventOf
  /** The same for several events of a kind, at least one. */
  several(caller: Caller, kind: EventKind, ids: readonly EventIds[]): Bound | undefined
}

/** @param clock the time in milliseconds since 1970-01-01T00:00:00Z. */
export function eventRows(
  database: Database,
  { clock, areKept }: { clock: () => number; areKept: boolean },
): EventRows {
  if (!areKept) return { one: () => undefined, several: () => undefined }
  const { insert, insertMany } = database.tables.events
  const inserts = new Map<number, Statement<readonly EventRow[]>>()
  const rowOf = ({ tenant }: Caller, kind: EventKind, { userId, sessionId, provider }: EventIds): EventRow => ({
    ...{ tenant, kind, userId, sessionId, provider },
    created: new Date(clock()),
  })
  return {
    one: (caller, kind, ids = {}) => ({ sql: insert.sql, cells: insert.cells(rowOf(caller, kind, ids)) }),
    several(caller, kind, ids) {
      let statement = inserts.get(ids.length)
      if (statement === undefined) {
        statement = insertMany(ids.length)
        inserts.set(ids.length, statement)
      }
      return { sql: statement.sql, cells: statement.cells(ids.map((each) => rowOf(caller, kind, each))) }
    },
  }
}
