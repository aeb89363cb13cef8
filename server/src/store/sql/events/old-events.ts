import type { EventStore, ExpiredRows } from "../../store.js"
import type { Database } from "../database.js"
import { type Cell, type Statement, statement } from "../query/statement.js"

/** How many events one DELETE names. With more of them MySQL would rather read a small table whole. */
const eventsPerStatement = 20

/**
 * Events that are no longer kept, the lowest sequences first and up to the first one that is to stay: so what is left is what
 * follows one sequence, and whoever wants to go on from a lower one can be told that some are missing. Those without a
 * sequence get one first.
 *
 * @param keepMs how long they are kept.
 * @param sequence gives those their sequences that nobody has read.
 */
export function oldEvents(database: Database, keepMs: number, sequence: EventStore["sequence"]): ExpiredRows {
  const { events } = database.tables
  /** Up to there this process has seen all go: the entries of the index that are left of them need not be passed again. */
  let passed = 0
  const selects = new Map<number, Statement<{ sequence: number }>>()
  const deleteEvents = deleteByIds()

  const firstOf = (limit: number) =>
    events.statement(
      events
        .selectFrom("e")
        .select("e.id, e.sequence, e.created")
        .where("e.sequence > :sequence")
        .orderBy("e.sequence")
        .limit(limit),
      "sequence",
    )

  function deleteByIds(): Statement<readonly number[]> {
    const parameters: Record<string, (ids: readonly number[]) => Cell> = {}
    const list = Array.from({ length: eventsPerStatement }, (_, n) => {
      // The last id stands for those that lack.
      parameters[`id${n}`] = (ids) => events.cell("id", ids[Math.min(n, ids.length - 1)] as number)
      return `:id${n}`
    })
    return statement(events.deleteFrom().where(`id IN (${list.join(", ")})`), parameters)
  }

  return {
    table: events.name,
    keepMs,
    async deleteBatch(waiter, { before, limit }) {
      const select = selects.get(limit) ?? firstOf(limit)
      selects.set(limit, select)
      await sequence(waiter)
      const gone = await database.transaction(waiter, [`${events.name} old`], async (sql) => {
        const rows = (await sql.read(select, { sequence: passed })).map(([id, sequence, created]) => ({
          id: Number(id),
          sequence: Number(sequence),
          created: events.value("created", created as Cell),
        }))
        const firstToStay = rows.findIndex(({ created }) => created >= before)
        const old = firstToStay === -1 ? rows : rows.slice(0, firstToStay)
        for (let start = 0; start < old.length; start += eventsPerStatement) {
          await sql.write(
            deleteEvents,
            old.slice(start, start + eventsPerStatement).map(({ id }) => id),
          )
        }
        return old
      })
      const [first, last] = [gone[0], gone.at(-1)]
      if (first === undefined || last === undefined) return null
      passed = last.sequence
      return { count: gone.length, first: first.created, last: last.created }
    },
  }
}
