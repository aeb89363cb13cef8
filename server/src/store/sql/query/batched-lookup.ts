import type { ObjectLiteral, SelectQueryBuilder } from "typeorm"
import { oncePer } from "../../../util/once-per.js"
import type { Caller } from "../../store.js"
import type { Database } from "../database.js"
import { coalesce, type LookupWaiter } from "./batch-loader.js"
import { type Cell, itemParameters, type Statement, statement, textOf } from "./statement.js"

export interface SharedLookupOptions {
  /** Begins a SELECT from the table of the key under `alias`, joined to any other tables. */
  from(): SelectQueryBuilder<ObjectLiteral>
  /** The columns to select. */
  columns: string
  alias: string
  /** The properties that are unique together within a tenant. All of them are keys or hashes. */
  key: readonly string[]
}

interface Wanted {
  tenant: Cell
  keys: readonly Cell[][]
}

/**
 * Creates a lookup of rows by a unique key. Concurrent lookups of a tenant share a statement, each with its own answer and its
 * own signal, because a statement costs more than a row, in this process and in the database.
 *
 * @returns A function that takes the caller and the cells of the key, and finds the cells of the row or undefined.
 */
export function sharedLookup(database: Database, { from, columns, alias, key }: SharedLookupOptions) {
  const names = key.map((property) => `${alias}.${property}`)
  const options = key.length > 1 && !database.dialect.findsRowsIn ? { limit: 1, ahead: 1 } : database.lookups
  // Statements for 1, 2, 4 … keys, so that there are few to prepare.
  const statements = [statementFor(1)]
  for (let width = 2; width <= options.limit; width *= 2) statements.push(statementFor(width))

  function statementFor(width: number): Statement<Wanted> {
    const cells = key.map((property, index) => [property, (one: Cell[]) => one[index] as Cell])
    const items = itemParameters(width, ({ keys }: Wanted) => keys, Object.fromEntries(cells))
    const select = from().where(`${alias}.tenant = :tenant`)
    if (width === 1) {
      const only = items.names[0] as string[]
      select.select(columns).andWhere(names.map((name, index) => `${name} = ${only[index]}`).join(" AND "))
    } else {
      const list = items.names.map((one) => `(${one.join(", ")})`)
      select.select(`${columns}, ${names.join(", ")}`).andWhere(`(${names.join(", ")}) IN (${list.join(", ")})`)
    }
    return statement(select, { ...items.parameters, tenant: ({ tenant }) => tenant })
  }

  const loadOf =
    (tenant: string) =>
    async (keys: readonly Cell[][], { signal, spans }: LookupWaiter) => {
      database.observer?.lookedUp(keys.length)
      if (keys.length > 1) for (const span of spans ?? []) span.setAttribute("authwire.lookups", keys.length)
      const select = statements[Math.ceil(Math.log2(keys.length))] as Statement<Wanted>
      const cell = database.tables.users.cell("tenant", tenant)
      const rows = await database.reads({ ofTenant: tenant, signal, spans }).read(select, { tenant: cell, keys })
      if (keys.length === 1) return rows
      const byKey = new Map(rows.map((cells) => [textOf(cells.slice(-key.length)), cells]))
      return keys.map((cells) => byKey.get(textOf(cells)))
    }

  // Callers can create a limited number of tenants only.
  const lookupOf = oncePer((tenant: string) => coalesce(options, loadOf(tenant)))
  return (caller: Caller, cells: Cell[]): Promise<Cell[] | undefined> => lookupOf(caller.tenant)(cells, caller)
}
