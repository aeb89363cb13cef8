import type { Caller } from "../../store.js"
import type { EventIds, EventKind } from "../../types.js"
import type { Database } from "../database.js"
import type { Change } from "../query/statement.js"

/**
 * Returns the insert of an event, for the transaction of the write that it records; empty if no events are kept.
 *
 * @param ids of the objects that were written; they may be unknown.
 */
export type EventOf = (caller: Caller, kind: EventKind, ids?: EventIds) => readonly Change[]

/** @param clock the time in milliseconds since 1970-01-01T00:00:00Z. */
export function eventRows(
  database: Database,
  { clock, isEnabled }: { clock: () => number; isEnabled: boolean },
): EventOf {
  if (!isEnabled) return () => []
  const { events } = database.tables
  return ({ tenant }, kind, { userId, sessionId, provider } = {}) => [
    events.insertion({ tenant, kind, userId, sessionId, provider, created: new Date(clock()) }),
  ]
}
