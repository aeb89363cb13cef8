import { oncePer } from "../../../util/once-per.js"
import type { EventStore } from "../../store.js"
import type { Database } from "../database.js"
import type { Cell } from "../query/statement.js"
import { along } from "../walks/along.js"
import { walks } from "../walks/walks.js"
import { eventSequences } from "./event-sequences.js"

/**
 * Creates the store of events.
 *
 * @param isEnabled whether the writes of this process add events.
 */
export function eventStore(
  database: Database,
  { isEnabled }: { isEnabled: boolean },
): Omit<EventStore, "sealer" | "positionOf"> {
  const { events } = database.tables
  const { headOf, sequence } = eventSequences(database)
  const lowest = events.statement(
    events.selectFrom("e").select("MIN(e.sequence)").where("e.tenant = :tenant AND e.sequence > 0"),
    "tenant",
  )
  const followingOf = oncePer((limit: number) =>
    along(database, walks.eventsOfTenant, { alias: "e", select: events.columns("e"), limit, after: ["sequence"] }),
  )

  return {
    isEnabled,
    sequence,

    async read(caller, { after, limit }) {
      const { tenant } = caller
      const select = followingOf(limit)
      const eventOf = (cells: Cell[]) => {
        const { id: _, sequence, ...event } = events.row(cells)
        return { ...event, sequence: sequence as number }
      }
      for (let from = after; ; ) {
        const rows = await database.reads(caller).read(select, { of: { tenant }, after: { sequence: from } })
        const found = events.readable(rows, eventOf)
        const last = rows.at(-1)
        // If none of them can be read, the readers would begin here again and again.
        if (found.length > 0 || last === undefined) return found
        from = events.valueIn("sequence", last) as number
      }
    },

    async history(caller) {
      // Read the head first: events that are deleted between the two statements precede the remaining sequences.
      const { last, history } = await headOf(caller)
      const [cells] = await database.reads(caller).read(lowest, caller)
      const first = events.value("sequence", (cells as Cell[])[0] as Cell)
      return { id: history, before: first === undefined ? last : first - 1, last }
    },
  }
}
