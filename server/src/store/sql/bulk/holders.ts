import type { Database } from "../database.js"
import { type Cell, itemParameters, statement, textOf } from "../query/statement.js"
import type { Table } from "../schema/table.js"
import type { BulkName, BulkRows } from "./bulk.js"

/** Looks up, for a table in which users hold something that no other user can have, who holds it. */
export type Holders = {
  /**
   * Returns for each row the id of the tenant's user that holds its address or, for other rows than users, its key.
   * Undefined if nobody does.
   */
  readonly [N in BulkName]?: (rows: readonly BulkRows[N][]) => Promise<(string | undefined)[]>
}

/** The number of rows in one SELECT, as in `bulkTable`. */
const rowsAtOnce = 100

export function holders(database: Database, tenant: string): Holders {
  const { users, accounts, authenticators } = database.tables
  return {
    users: lookup(users, ["emailKey"], "id"),
    accounts: lookup(accounts, ["provider", "providerAccountId"], "userId"),
    authenticators: lookup(authenticators, ["credentialID"], "userId"),
  }

  function lookup<Row extends { tenant: string }, Key extends keyof Row & string>(
    table: Table<Row, Key>,
    held: readonly (keyof Row & string)[],
    holder: keyof Row & string,
  ) {
    const cell = (row: Row, property: keyof Row) => table.cell(property, row[property])
    const nameOf = (row: Row) => textOf(held.map((property) => cell(row, property)))
    const makers = held.map((property) => [property, (row: Row) => cell(row, property)] as const)
    const items = itemParameters(rowsAtOnce, (rows: readonly Row[]) => rows, Object.fromEntries(makers))
    const list = database.dialect.rowsIn(items.names.map((parts) => `(${parts.join(", ")})`))
    const columns = [...held, holder].map((property) => `t.${property}`)
    const select = statement(
      table
        .selectFrom("t")
        .select(columns.join(", "))
        .where(`t.tenant = :tenant AND (${columns.slice(0, -1).join(", ")}) IN (${list})`),
      { ...items.parameters, tenant: () => table.cell("tenant", tenant as Row["tenant"]) },
    )
    const first = table.statement(
      table.selectFrom("t").select("t.tenant").where("t.tenant = :tenant").limit(1),
      "tenant" as Key,
    )
    let isEmpty: boolean | undefined

    return async (rows: readonly Row[]): Promise<(string | undefined)[]> => {
      // Nothing is asked of a tenant without rows, as it is at the first import.
      isEmpty ??= (await database.reads({}).read(first, { tenant } as Row)).length === 0
      const asked = isEmpty ? [] : rows.filter((row) => held.every((property) => row[property] !== undefined))
      const chunks = Array.from({ length: Math.ceil(asked.length / rowsAtOnce) }, (_, index) =>
        asked.slice(index * rowsAtOnce, (index + 1) * rowsAtOnce),
      )
      const found = await Promise.all(chunks.map((chunk) => database.reads({}).read(select, chunk)))
      const holderOf = new Map<string, string>()
      for (const cells of found.flat()) {
        const row = {} as Row
        for (const [index, property] of held.entries()) row[property] = table.value(property, cells[index] as Cell)
        holderOf.set(nameOf(row), String(table.value(holder, cells[held.length] as Cell)))
      }
      return rows.map((row) => (holderOf.size === 0 ? undefined : holderOf.get(nameOf(row))))
    }
  }
}
