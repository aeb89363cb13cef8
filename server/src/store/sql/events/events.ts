import { oncePer } from "../../../util/once-per.js"
import type { EventStore } from "../../store.js"
import type { Database, Reads } from "../database.js"
import type { Cell, Statement } from "../query/statement.js"
import { along } from "../walks/along.js"
import { walks } from "../walks/walks.js"

/** The number of events that get their sequences in one transaction. */
const eventsAtOnce = 1000

/** The number of events that get their sequences by one statement. */
const eventsPerStatement = 50

/** The key of the only row of `event_head`. */
const head = { name: "events" }

/**
 * Creates the store of events, which orders them by their commits.
 *
 * A transaction adds its event without a sequence. A reader locks the row of `event_head`, reads the events without a
 * sequence, which are committed, and assigns them the next sequences in the order of their ids. So no event ever gets a
 * lower sequence than one that could already be read, even if it commits late. The lock serializes concurrent readers.
 * On several primaries, where row locks are local, the write to that row conflicts instead. Each statement sees
 * everything committed before it (READ COMMITTED), so a reader that waited for the lock sees the sequences that the
 * previous holder assigned.
 *
 * If one event was committed before the write of another began, its id is lower. If neither has a sequence yet, they
 * get their sequences in that order; see docs/decisions/0015-event-sequences.md.
 *
 * @param isEnabled whether the writes of this process add events.
 */
export function eventStore(
  database: Database,
  { isEnabled }: { isEnabled: boolean },
): Omit<EventStore, "sealer" | "positionOf"> {
  const { events, eventHead } = database.tables
  const quote = (name: string) => database.dataSource.driver.escape(name)
  const { dialect } = database
  /** Selects the last sequence, the history, and whether any event has no sequence yet. */
  const selectHead: Statement<unknown> = {
    sql:
      `SELECT h.${quote("sequence")}, h.${quote("history")}, CASE WHEN EXISTS (SELECT 1 FROM ${quote("events")} e` +
      ` WHERE e.${quote("sequence")} IS NULL) THEN 1 ELSE 0 END FROM ${quote("event_head")} h`,
    cells: () => [],
  }
  const selectUnsequenced = events.statement(
    events
      .selectFrom("e")
      .select("e.id")
      .where("e.sequence IS NULL")
      // The order of the index.
      .orderBy(dialect.sortsNulls ? "e.id" : "e.sequence")
      .addOrderBy("e.id")
      .limit(eventsAtOnce),
  )
  const giveSequences = giveSequencesTo()
  const lockHead = eventHead.statement(lockedHead(), ...eventHead.key)
  const setSequence = eventHead.statement(
    eventHead.updateOf("sequence").where(eventHead.keyIs()),
    ...eventHead.key,
    "sequence",
  )
  const lowest = events.statement(events.selectFrom("e").select("MIN(e.sequence)").where("e.sequence > 0"))
  const lastOfTenant = events.statement(
    events.selectFrom("e").select("MAX(e.sequence)").where("e.tenant = :tenant"),
    "tenant",
  )

  /**
   * Selects the row of `event_head` and waits for its lock. Other locked rows are retried instead, but this lock is
   * held only briefly and the result is needed soon.
   */
  function lockedHead() {
    return dialect.locking(eventHead.selectFrom("h").where(eventHead.keyIs("h")), "wait")
  }

  /** Raises each id by the same offset, because a sequence need not be the next number, only a greater one. */
  function giveSequencesTo(): Statement<{ ids: readonly number[]; offset: number }> {
    const list = Array.from({ length: eventsPerStatement }, (_, n) => dialect.parameter(n + 2))
    return {
      sql:
        `UPDATE ${quote("events")}${dialect.byPrimaryKey} SET ${quote("sequence")} = ${quote("id")} + ${dialect.parameter(1)}` +
        ` WHERE ${quote("id")} IN (${list.join(", ")})`,
      // The last id is repeated for missing ones.
      cells: ({ ids, offset }) => [offset, ...list.map((_, n) => ids[Math.min(n, ids.length - 1)] as number)],
    }
  }

  const followingOf = oncePer((ofTenant: boolean) =>
    oncePer((limit: number) => {
      const options = { ...{ alias: "e", select: events.columns("e"), limit }, after: ["sequence"] } as const
      return ofTenant ? along(database, walks.eventsOfTenant, options) : along(database, walks.events, options)
    }),
  )

  async function readHead(sql: Reads) {
    const [cells] = await sql.read(selectHead, undefined)
    const [sequence, history, waits] = cells as [Cell, Cell, Cell]
    return {
      last: eventHead.value("sequence", sequence),
      history: eventHead.value("history", history),
      anyWaits: Number(waits) === 1,
    }
  }

  return {
    isEnabled,

    async sequence(waiter) {
      // Usually no event waits for a sequence. This read finds that out without a lock.
      const found = await readHead(database.reads(waiter))
      if (!found.anyWaits) return found.last
      for (;;) {
        const { last, count } = await database.write(waiter, [eventHead.nameOf(head)], async (sql) => {
          const [locked] = await sql.read(lockHead, head)
          const before = eventHead.row(locked as Cell[]).sequence
          const rows = await sql.read(selectUnsequenced, {})
          const ids = rows.map(([id]) => Number(id))
          if (ids.length === 0) return { last: before, count: 0 }
          const offset = before + 1 - (ids[0] as number)
          for (let start = 0; start < ids.length; start += eventsPerStatement) {
            await sql.write(giveSequences, { ids: ids.slice(start, start + eventsPerStatement), offset })
          }
          const last = (ids.at(-1) as number) + offset
          await sql.write(setSequence, { ...head, sequence: last })
          return { last, count: ids.length }
        })
        if (count < eventsAtOnce) return last
      }
    },

    async read(waiter, { after, limit, tenant }) {
      const select = followingOf(tenant !== undefined)(limit)
      const eventOf = (cells: Cell[]) => {
        const { id: _, sequence, ...event } = events.row(cells)
        return { ...event, sequence: sequence as number }
      }
      for (let from = after; ; ) {
        const rows = await database
          .reads(waiter)
          .read(select, { of: { tenant: tenant as string }, after: { sequence: from } })
        const found = events.readable(rows, eventOf)
        const last = rows.at(-1)
        // If none of them can be read, the readers would begin here again and again.
        if (found.length > 0 || last === undefined) return found
        from = events.valueIn("sequence", last) as number
      }
    },

    async last(caller) {
      const [cells] = await database.reads(caller).read(lastOfTenant, caller)
      return events.value("sequence", (cells as Cell[])[0] as Cell) ?? null
    },

    async history(waiter) {
      const sql = database.reads(waiter)
      // Read the head first: events that are deleted between the two statements precede the remaining sequences.
      const { last, history } = await readHead(sql)
      const [cells] = await sql.read(lowest, {})
      const first = events.value("sequence", (cells as Cell[])[0] as Cell)
      return { id: history, before: first === undefined ? last : first - 1, last }
    },
  }
}
