import { oncePer } from "../../../util/once-per.js"
import type { ExpiredRows } from "../../store.js"
import type { Database } from "../database.js"
import { type Cell, itemParameters, type Statement, statement } from "../query/statement.js"
import { along } from "../walks/along.js"
import { walks } from "../walks/walks.js"
import type { EventSequences } from "./event-sequences.js"

/** The number of events in one DELETE. With more keys MySQL would scan a small table as a whole. */
const eventsPerStatement = 20

/** Some events of a tenant. */
interface Some {
  tenant: string
  sequences: readonly number[]
}

/**
 * Creates the deletion of old events, one tenant after the other. Events are deleted in the order of their sequences, up to the first one
 * to keep. So the rest are all events after one sequence, and a client that continues from a lower one can be told that events
 * are missing. Events without a sequence get one first, so that a reader who comes after a long time need not wait for that.
 *
 * @param keepMs how long events are kept, in milliseconds.
 */
export function oldEvents(database: Database, keepMs: number, step: EventSequences["step"]): ExpiredRows {
  const { events, tenants } = database.tables
  const selectTenants = tenants.statement(tenants.selectFrom("t").select("t.name").where("t.deleted IS NULL"))
  /**
   * The tenants that are left of this round, with the sequence up to which it has deleted all events: the next scan skips the index
   * entries that remain of them. Undefined: a round begins.
   */
  let left: { tenant: string; passed: number }[] | undefined

  const firstOf = oncePer((limit: number) =>
    along(database, walks.eventsOfTenant, { alias: "e", select: "e.sequence, e.created", after: ["sequence"], limit }),
  )
  const deleteEvents = deleteBySequences()

  function deleteBySequences(): Statement<Some> {
    const { parameters, names } = itemParameters(eventsPerStatement, ({ sequences }: Some) => sequences, {
      sequence: (sequence) => events.cell("sequence", sequence),
    })
    const isOne = `tenant = :tenant AND sequence IN (${names.join(", ")})`
    return statement(events.deleteFrom().where(isOne), {
      ...parameters,
      tenant: ({ tenant }) => events.cell("tenant", tenant),
    })
  }

  return {
    table: events.name,
    keepMs,
    async deleteBatch(waiter, { before, limit }) {
      left ??= (await database.reads(waiter).read(selectTenants, {})).map(([name]) => {
        return { tenant: tenants.value("name", name as Cell), passed: 0 }
      })
      // One that fails, such as because it is deleted now, has its next turn in the next round.
      const next = left.shift()
      if (next === undefined) {
        left = undefined
        return null
      }
      const { tenant, passed } = next
      const caller = { ...waiter, tenant }
      const { state } = await step(caller)
      const rows = await database.reads(waiter).read(firstOf(limit), { of: { tenant }, after: { sequence: passed } })
      // An event whose time cannot be read goes with those before it.
      const times = rows.map(
        ([, created]) => events.readable([[created as Cell]], ([cell]) => events.value("created", cell as Cell))[0],
      )
      const toStay = times.findIndex((created) => created !== undefined && created >= before)
      const sequences = rows.slice(0, toStay === -1 ? rows.length : toStay).map(([sequence]) => Number(sequence))
      if (sequences.length > 0) {
        await database.write(waiter, [`${events.name} ${tenant} old`], async (sql) => {
          for (let start = 0; start < sequences.length; start += eventsPerStatement)
            await sql.write(deleteEvents, { tenant, sequences: sequences.slice(start, start + eventsPerStatement) })
        })
      }
      const count = sequences.length
      if (count === limit || state === "more") left.unshift({ tenant, passed: sequences.at(-1) ?? passed })
      return { count, first: times[0] ?? before, last: times[count - 1] ?? before }
    },
  }
}
