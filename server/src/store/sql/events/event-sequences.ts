import { setTimeout as delay } from "node:timers/promises"
import { atMost } from "../../../util/at-most.js"
import type { Caller } from "../../store.js"
import type { EventHead } from "../../types.js"
import type { Database } from "../database.js"
import type { Statement } from "../query/statement.js"
import { eventHeads } from "./event-heads.js"

/** The number of events that get their sequences in one transaction. */
const eventsAtOnce = 1000

/** The number of events that get their sequences by one statement. */
const eventsPerStatement = 50

/** The most transactions of this process that assign sequences, so that calls have most of the connections. */
const tenantsAtOnce = 4

/** The pause before the next transaction of a tenant, in milliseconds. */
const pauseMs = 5

/** How events get their sequences: see EventStore.sequence. */
export interface EventSequences {
  headOf(caller: Caller): Promise<EventHead>
  sequence(caller: Caller): Promise<EventHead>
  /**
   * Does a part of the same in one short transaction, if there is anything to do.
   *
   * @returns `state`: whether everything is done, there may be more events, or another process has the tenant's lock, which is not
   *   waited for.
   */
  step(caller: Caller): Promise<EventHead & { state: "done" | "more" | "locked" }>
}

/**
 * Creates what orders the events of each tenant by their commits.
 *
 * A transaction adds its event without a sequence. A reader locks the tenant's row of `event_head`, reads the tenant's events without a
 * sequence, which are committed, and assigns them the next sequences in the order of their ids. So no event ever gets a
 * lower sequence than one that could already be read, even if it commits late. A reader that finds the row locked tries again soon, and
 * holds no connection meanwhile: who keeps a lock delays the readers of one tenant. On several primaries, where row locks are local, the
 * write to that row conflicts instead. Each statement sees everything committed before it (READ COMMITTED), so the holder of the lock
 * sees the sequences that the one before it assigned.
 *
 * If one event of a tenant was committed before the write of another began, its id is lower. If neither has a sequence yet, they
 * get their sequences in that order; see docs/decisions/0015-event-sequences.md.
 */
export function eventSequences(database: Database): EventSequences {
  const { events, eventHead } = database.tables
  const { dialect } = database
  const quote = (name: string) => database.dataSource.driver.escape(name)
  const headOf = eventHeads(database)
  const turn = atMost(tenantsAtOnce)
  const selectUnsequenced = events.statement(
    events
      .selectFrom("e")
      .select("e.id")
      .where("e.tenant = :tenant AND e.sequence IS NULL")
      // The order of the index.
      .orderBy(dialect.sortsNulls ? "e.id" : "e.sequence")
      .addOrderBy("e.id")
      .limit(eventsAtOnce),
    "tenant",
  )
  const giveSequences = giveSequencesTo()
  const lockHead = eventHead.statement(
    dialect.locking(eventHead.selectFrom("h").where(eventHead.keyIs("h")), "skip"),
    ...eventHead.key,
  )
  const setSequence = eventHead.statement(
    eventHead.updateOf("sequence").where(eventHead.keyIs()),
    ...eventHead.key,
    "sequence",
  )

  /** Raises each id by the same offset, because a sequence need not be the next number, only a greater one. */
  function giveSequencesTo(): Statement<{ tenant: string; ids: readonly number[]; offset: number }> {
    const list = Array.from({ length: eventsPerStatement }, (_, n) => dialect.parameter(n + 3))
    return {
      sql:
        `UPDATE ${quote("events")}${dialect.byPrimaryKey} SET ${quote("sequence")} = ${quote("id")} + ${dialect.parameter(1)}` +
        ` WHERE ${quote("tenant")} = ${dialect.parameter(2)} AND ${quote("id")} IN (${list.join(", ")})`,
      // The last id is repeated for missing ones.
      cells: ({ tenant, ids, offset }) => [
        ...[offset, events.cell("tenant", tenant)],
        ...list.map((_, n) => ids[Math.min(n, ids.length - 1)] as number),
      ],
    }
  }

  const assign = ({ tenant, signal }: Caller) =>
    database.write({ signal }, [eventHead.nameOf({ tenant })], async (sql) => {
      const [locked] = await sql.read(lockHead, { tenant })
      if (locked === undefined) return { state: "locked" as const }
      const before = eventHead.row(locked).sequence
      const ids = (await sql.read(selectUnsequenced, { tenant })).map(([id]) => Number(id))
      const lastId = ids.at(-1)
      if (lastId === undefined) return { last: before, state: "done" as const }
      const offset = before + 1 - (ids[0] as number)
      for (let start = 0; start < ids.length; start += eventsPerStatement)
        await sql.write(giveSequences, { tenant, ids: ids.slice(start, start + eventsPerStatement), offset })
      const last = lastId + offset
      await sql.write(setSequence, { tenant, sequence: last })
      return { last, state: ids.length < eventsAtOnce ? ("done" as const) : ("more" as const) }
    })

  const step: EventSequences["step"] = async (caller) => {
    const { history, last, isBehind } = await headOf(caller)
    const done = isBehind ? await turn(() => assign(caller)) : { state: "done" as const }
    return { history, last, ...done }
  }

  return {
    headOf,
    step,
    async sequence(caller) {
      for (;;) {
        const { state, ...head } = await step(caller)
        if (state === "done") return head
        await delay(pauseMs, undefined, { signal: caller.signal, ref: false })
      }
    },
  }
}
