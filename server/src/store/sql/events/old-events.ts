import { oncePer } from "../../../util/once-per.js"
import type { EventStore, ExpiredRows } from "../../store.js"
import type { Database } from "../database.js"
import { type Cell, itemParameters, type Statement, statement } from "../query/statement.js"
import { along } from "../walks/along.js"
import { walks } from "../walks/walks.js"

/** The number of events in one DELETE. With more keys MySQL would scan a small table as a whole. */
const eventsPerStatement = 20

/**
 * Creates the deletion of old events. Events are deleted in the order of their sequences, up to the first one to keep.
 * So the rest are all events after one sequence, and a client that continues from a lower one can be told that events
 * are missing. Events without a sequence get one first.
 *
 * @param keepMs how long events are kept, in milliseconds.
 * @param sequence assigns sequences to the events that have none.
 */
export function oldEvents(database: Database, keepMs: number, sequence: EventStore["sequence"]): ExpiredRows {
  const { events } = database.tables
  /**
   * The sequence up to which this process has deleted all events. The next scan skips the index entries that remain of
   * them.
   */
  let passed = 0
  const deleteEvents = deleteByIds()

  const firstOf = oncePer((limit: number) =>
    along(database, walks.events, {
      ...{ alias: "e", select: "e.id, e.sequence, e.created", after: ["sequence"], limit },
    }),
  )

  function deleteByIds(): Statement<readonly number[]> {
    const { parameters, names } = itemParameters(eventsPerStatement, (ids: readonly number[]) => ids, {
      id: (id) => events.cell("id", id),
    })
    return statement(events.deleteFrom().where(`id IN (${names.join(", ")})`), parameters)
  }

  return {
    table: events.name,
    keepMs,
    async deleteBatch(waiter, { before, limit }) {
      await sequence(waiter)
      const gone = await database.write(waiter, [`${events.name} old`], async (sql) => {
        const rows = (await sql.read(firstOf(limit), { after: { sequence: passed } })).map(
          ([id, sequence, created]) => ({
            id: Number(id),
            sequence: Number(sequence),
            // An event whose time cannot be read goes with those before it.
            created: events.readable([[created as Cell]], ([cell]) => events.value("created", cell as Cell))[0],
          }),
        )
        const firstToStay = rows.findIndex(({ created }) => created !== undefined && created >= before)
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
      return { count: gone.length, first: first.created ?? before, last: last.created ?? before }
    },
  }
}
