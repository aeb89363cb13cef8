import type { EventStore } from "../../store.js"
import type { Database, Reads } from "../database.js"
import { type Cell, type Statement, statement } from "../query/statement.js"
import type { EventRow } from "../schema/entities.js"

/** How many events one transaction gives their sequences. */
const eventsAtOnce = 1000

/** How many of them one statement does. */
const eventsPerStatement = 50

/** The name of the one row of `event_head`. */
const head = { name: "events" }

/**
 * Events in the order of their commits.
 *
 * A transaction adds its event without a sequence. Whoever wants to read locks the row of `event_head`, reads those that
 * have none, which are those that are committed, and gives them the next ones, in the order of their ids. So no sequence ever
 * comes before one that was already there to be read, whatever commits late or is rolled back, and the lock decides between
 * those who do it at the same time; on several primaries, whose row locks are their own, it is the write to that row that
 * conflicts. Each statement sees what was committed before it (READ COMMITTED), so that the second one sees what whoever had
 * the lock before has done.
 *
 * Of two events one was committed before the write of the other began: then its id is lower, and where both wait they get
 * their sequences in that order; see docs/decisions/0015-events.md.
 *
 * @param areKept whether the writes of this process add events.
 */
export function eventStore(
  database: Database,
  { areKept }: { areKept: boolean },
): Omit<EventStore, "sealer" | "positionOf"> {
  const { events, eventHead } = database.tables
  const quote = (name: string) => database.dataSource.driver.escape(name)
  const isInnoDb = database.engine === "mysql" || database.engine === "mariadb"
  /** The last sequence, the history, and whether any event waits for its sequence. */
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
      // The index has them in this order. MariaDB would sort them by what is null in all of them.
      .orderBy(database.engine === "mariadb" ? "e.id" : "e.sequence")
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
  const following = new Map<string, Statement<{ tenant?: string; sequence: number }>>()

  /** Waits for others who have the row, which is not for long, where elsewhere one would try again: it has to be soon. */
  function lockedHead() {
    const select = eventHead.selectFrom("h").where(eventHead.keyIs("h"))
    // SQLite locks everything as the transaction begins.
    return database.engine === "sqlite" ? select : select.setLock("pessimistic_write")
  }

  /** Their ids and by how much each is raised: a sequence need not be the next number, only a greater one. */
  function giveSequencesTo(): Statement<{ ids: readonly number[]; offset: number }> {
    const parameter = (n: number) => (database.engine === "postgres" ? `$${n + 1}` : "?")
    const list = Array.from({ length: eventsPerStatement }, (_, n) => parameter(n + 1))
    // Without the index a server that thinks the table small would read all of it, and wait for rows of transactions that
    // are not committed.
    const by = isInnoDb ? " FORCE INDEX (PRIMARY)" : ""
    return {
      sql:
        `UPDATE ${quote("events")}${by} SET ${quote("sequence")} = ${quote("id")} + ${parameter(0)}` +
        ` WHERE ${quote("id")} IN (${list.join(", ")})`,
      // The last id stands for those that lack.
      cells: ({ ids, offset }) => [offset, ...list.map((_, n) => ids[Math.min(n, ids.length - 1)] as number)],
    }
  }

  function followingOf(ofTenant: boolean, limit: number) {
    const name = `${ofTenant} ${limit}`
    let select = following.get(name)
    if (select === undefined) {
      const builder = events.selectFrom("e").where(ofTenant ? isOfTenant : "e.sequence > :sequence")
      builder.orderBy("e.sequence").limit(limit)
      select = statement<EventRow, { tenant?: string; sequence: number }>(builder, {
        sequence: ({ sequence }) => events.cell("sequence", sequence),
        ...(ofTenant && { tenant: ({ tenant }: { tenant?: string }) => events.cell("tenant", tenant as string) }),
      })
      following.set(name, select)
    }
    return select
  }

  // PostgreSQL would rather pass over the events of all other tenants, by the other index, if this were said as to the others.
  const isOfTenant =
    database.engine === "postgres"
      ? "e.tenant = :tenant AND (e.tenant, e.sequence) > (:tenant, :sequence)"
      : "e.tenant = :tenant AND e.sequence > :sequence"

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
    areKept,

    async sequence(waiter) {
      // Most of the time there is nothing to do, and no lock is taken to find that out.
      const found = await database.statements(waiter, readHead)
      if (!found.anyWaits) return found.last
      for (;;) {
        const { last, count } = await database.transaction(waiter, [eventHead.nameOf(head)], async (sql) => {
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
      const select = followingOf(tenant !== undefined, limit)
      const values = { sequence: after, ...(tenant !== undefined && { tenant }) }
      const rows = await database.statements(waiter, (sql) => sql.read(select, values))
      return rows.map((cells) => {
        const { id: _, sequence, ...event } = events.row(cells)
        return { ...event, sequence: sequence as number }
      })
    },

    async last(caller) {
      const [cells] = await database.statements(caller, (sql) => sql.read(lastOfTenant, caller))
      return events.value("sequence", (cells as Cell[])[0] as Cell) ?? null
    },

    history: (waiter) =>
      database.statements(waiter, async (sql) => {
        // Read first: what is cleaned away between the two statements was below the sequences that follow.
        const { last, history } = await readHead(sql)
        const [cells] = await sql.read(lowest, {})
        const first = events.value("sequence", (cells as Cell[])[0] as Cell)
        return { id: history, before: first === undefined ? last : first - 1, last }
      }),
  }
}
