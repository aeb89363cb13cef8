import type { Caller } from "../store.js"
import type { EventIds, EventKind } from "../types.js"
import type { Database } from "./database.js"
import type { Bound } from "./query/statement.js"

/**
 * The INSERT of an event, for the write that it tells of; undefined where no events are kept.
 *
 * @param ids of things that have been written; they may be unknown.
 */
export type EventOf = (caller: Caller, kind: EventKind, ids?: EventIds) => Bound | undefined

/** @param clock the time in milliseconds since 1970-01-01T00:00:00Z. */
export function eventRows(database: Database, { clock, areKept }: { clock: () => number; areKept: boolean }): EventOf {
  if (!areKept) return () => undefined
  const { insert } = database.tables.events
  return ({ tenant }, kind, { userId, sessionId, provider } = {}) => ({
    sql: insert.sql,
    cells: insert.cells({ tenant, kind, userId, sessionId, provider, created: new Date(clock()) }),
  })
}
