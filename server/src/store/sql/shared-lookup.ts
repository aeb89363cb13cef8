import type { ObjectLiteral, SelectQueryBuilder } from "typeorm"
import type { Caller } from "../store.js"
import { coalesce, type Lookup } from "./coalesce.js"
import type { Database } from "./database.js"
import { type Cell, type Statement, statement } from "./query/statement.js"
import { textOf } from "./table.js"

export interface SharedLookupOptions {
  /** Begins a SELECT from the table of the key under `alias`, and from those that are joined to it. */
  from(): SelectQueryBuilder<ObjectLiteral>
  /** The columns that are wanted. */
  columns: string
  alias: string
  /** The properties that are unique together within the tenant, all of them of bytes on a server. */
  key: readonly string[]
}

/**
 * Finds rows by a unique key, or undefined. Look-ups of a tenant that come together share a statement, each with its own
 * answer and its own signal: a statement costs more than a row, here and in the database.
 *
 * @returns a function of the caller and the cells of the key.
 */
export function sharedLookup(database: Database, { from, columns, alias, key }: SharedLookupOptions) {
  // For 1, 2, 4 … keys: few statements to prepare.
  const statements = [statementFor(1)]
  for (let width = 2; width <= database.lookups.limit; width *= 2) statements.push(statementFor(width))

  /** Its values are the tenant and the keys, one after the other, and so its parameters have numbers for names. */
  function statementFor(width: number): Statement<readonly Cell[]> {
    const names = key.map((property) => `${alias}.${property}`)
    const parameter = (keyIndex: number, index: number) => `:${1 + keyIndex * key.length + index}`
    const ofTenant = from().where(`${alias}.tenant = :0`)
    const is = names.map((name, index) => `${name} = ${parameter(0, index)}`).join(" AND ")
    const list = Array.from({ length: width }, (_, n) => `(${names.map((_, index) => parameter(n, index)).join(", ")})`)
    const select =
      width === 1
        ? ofTenant.select(columns).andWhere(is)
        : ofTenant.select(`${columns}, ${names.join(", ")}`).andWhere(`(${names.join(", ")}) IN (${list.join(", ")})`)
    const parameters = Array.from({ length: 1 + width * key.length }, (_, index) => [
      index,
      (values: readonly Cell[]) => values[index] as Cell,
    ])
    return statement(select, Object.fromEntries(parameters))
  }

  const load = async (tenant: Cell, keys: readonly Cell[][], signal: AbortSignal | undefined) => {
    const size = Math.ceil(Math.log2(keys.length))
    // The last key stands for those that lack.
    const list = Array.from({ length: 2 ** size }, (_, index) => keys[Math.min(index, keys.length - 1)] as Cell[])
    const select = statements[size] as Statement<readonly Cell[]>
    const rows = await database.statements({ signal }, (sql) => sql.read(select, [tenant, ...list.flat()]))
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
