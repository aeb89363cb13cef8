import type { Caller } from "../store.js"
import { coalesce, type Lookup } from "./coalesce.js"
import type { Database } from "./database.js"
import { type Cell, textOf } from "./table.js"

export interface SharedLookupOptions {
  /** The columns that are wanted. */
  columns: string
  /** `FROM … WHERE s.tenant = ?`, whose parameter is the tenant. */
  from: string
  /** The columns that are unique together within the tenant, all of them of bytes on a server. */
  key: readonly string[]
}

/**
 * Finds rows by a unique key, or undefined. Look-ups of a tenant that come together share a statement, each with its own
 * answer and its own signal: a statement costs more than a row, here and in the database.
 *
 * @returns a function of the caller and the cells of the key.
 */
export function sharedLookup(database: Database, { columns, from, key }: SharedLookupOptions) {
  const is = key.map((column) => `${column} = ?`).join(" AND ")
  const parameters = `(${key.map(() => "?").join(", ")})`
  // For 1, 2, 4 … keys: few statements to prepare.
  const statements = [`SELECT ${columns} ${from} AND ${is}`]
  for (let width = 2; width <= database.lookups.limit; width *= 2) {
    const list = Array(width).fill(parameters).join(", ")
    statements.push(`SELECT ${columns}, ${key.join(", ")} ${from} AND (${key.join(", ")}) IN (${list})`)
  }

  const load = async (tenant: Cell, keys: readonly Cell[][], signal: AbortSignal | undefined) => {
    const size = Math.ceil(Math.log2(keys.length))
    // The last key stands for those that lack.
    const list = Array.from({ length: 2 ** size }, (_, index) => keys[Math.min(index, keys.length - 1)] as Cell[])
    const statement = statements[size] as string
    const rows = await database.statements({ signal }, (sql) => sql.read(statement, [tenant, ...list.flat()]))
    if (keys.length === 1) return rows
    const byKey = new Map(rows.map((cells) => [textOf(cells.slice(-key.length)), cells]))
    return keys.map((cells) => byKey.get(textOf(cells)))
  }

  // There are as many as tenants: callers do not make them up.
  const lookups = new Map<string, Lookup<Cell[], Cell[]>>()
  return ({ tenant, signal }: Caller, cells: Cell[]): Promise<Cell[] | undefined> => {
    let lookup = lookups.get(tenant)
    if (lookup === undefined) {
      const tenantIs = database.tables.users.cell("tenant", tenant)
      lookup = coalesce(database.lookups, (keys, signals) => load(tenantIs, keys, signals))
      lookups.set(tenant, lookup)
    }
    return lookup(cells, signal)
  }
}
