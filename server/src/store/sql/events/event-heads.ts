import { randomBytes } from "node:crypto"
import { oncePer } from "../../../util/once-per.js"
import type { Caller } from "../../store.js"
import type { EventHead } from "../../types.js"
import type { Database } from "../database.js"
import { coalesce } from "../query/batch-loader.js"
import { type Cell, itemParameters, type Statement, statement } from "../query/statement.js"
import { failsBy, StatementError } from "../query/statement-error.js"
import { tenantNotFound } from "../schema/present-tenants.js"

/** The most heads that one statement reads, a power of two. */
const headsAtOnce = 64

/** The head of a tenant, and whether committed events of it have no sequence yet. */
export interface FoundHead extends EventHead {
  isBehind: boolean
}

/**
 * Creates the function that reads where the events of a tenant stand. A tenant gets its row of `event_head` when it is first read.
 * Usually no event waits for a sequence, and the read finds that out without a lock.
 */
export function eventHeads(database: Database): (caller: Caller) => Promise<FoundHead> {
  const { events, eventHead } = database.tables
  const isBehind = `CASE WHEN EXISTS (SELECT 1 FROM ${events.name} e WHERE e.tenant = h.tenant AND e.sequence IS NULL) THEN 1 ELSE 0 END`

  const select = oncePer((width: number): Statement<readonly string[]> => {
    const { parameters, names } = itemParameters(width, (tenants: readonly string[]) => tenants, {
      tenant: (tenant) => eventHead.cell("tenant", tenant),
    })
    const heads = eventHead.selectFrom("h").select(`${eventHead.columns("h")}, ${isBehind}`)
    return statement(heads.where(`h.tenant IN (${names.join(", ")})`), parameters)
  })

  const find = coalesce({ ...database.lookups, limit: headsAtOnce }, async (tenants: readonly string[], waiter) => {
    // Statements for 1, 2, 4 … tenants, so that there are few to prepare.
    const width = 2 ** Math.ceil(Math.log2(tenants.length))
    const rows = await database.reads(waiter).read(select(width), tenants)
    const found = rows.map((cells): [string, FoundHead] => {
      const { tenant, history, sequence: last } = eventHead.row(cells)
      return [tenant, { history, last, isBehind: Number(cells.at(-1) as Cell) === 1 }]
    })
    const byTenant = new Map(found)
    return tenants.map((tenant) => byTenant.get(tenant))
  })

  async function create({ tenant, signal }: Caller): Promise<void> {
    const history = randomBytes(16).toString("hex").toUpperCase()
    try {
      await database.write({ signal }, [], (sql) => sql.write(eventHead.insert, { tenant, sequence: 0, history }))
    } catch (error) {
      // Another reader has created it.
      if (!failsBy(error, "duplicate")) throw tenantNotFound(error)
    }
  }

  return async (caller) => {
    let found = await find(caller.tenant, caller)
    if (found === undefined) {
      await create(caller)
      found = await find(caller.tenant, caller)
    }
    // The tenant was deleted at once.
    if (found === undefined) throw tenantNotFound(new StatementError("no-parent", "a tenant without a head"))
    return found
  }
}
