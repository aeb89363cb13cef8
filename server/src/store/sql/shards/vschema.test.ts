import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { expect, test } from "@jest/globals"
import { vschemas } from "./vschema.js"

type Vschema = { sharded: boolean; tables: Record<string, { columnVindexes?: { column: string }[] }> }

test("both keyspaces have every table of the migrations; the rows of a tenant are in one shard, with the tenant", async () => {
  const database = await createStoreDatabase("sqlite")
  try {
    const names = (await database.sql("SELECT name FROM sqlite_master WHERE type = 'table'")).map(({ name }) => name)
    const tables = names.map(String).filter((name) => !name.startsWith("sqlite_"))
    const { sharded, global } = vschemas() as { sharded: Vschema; global: Vschema }
    expect([sharded.sharded, global.sharded]).toEqual([true, false])
    expect(Object.keys(sharded.tables).toSorted()).toEqual(tables.toSorted())
    expect(Object.keys(global.tables).toSorted()).toEqual(tables.toSorted())
    const others: string[] = []
    for (const table of tables) {
      const columns = (await database.sql(`SELECT name FROM pragma_table_info('${table}')`)).map(({ name }) => name)
      const column = sharded.tables[table]?.columnVindexes?.[0]?.column
      if (columns.includes("tenant")) expect([table, column]).toEqual([table, "tenant"])
      else others.push(`${table} ${column}`)
    }
    expect(others.toSorted()).toEqual([
      "authwire_migrations undefined",
      "leases name",
      "signing_keys number",
      "tenants name",
    ])
  } finally {
    await database.drop()
  }
})
