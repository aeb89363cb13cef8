import { type BulkName, type BulkRows, bulk, type Database } from "../store/sql/index.js"
import { type Item, labelOf, type Origin } from "./item.js"

/** Another database of Authwire: its rows need no conversion. Its keys must be among those given. */
export function authwireOrigin(
  database: Database,
  { tenant, encryptionKeys }: { tenant: string; encryptionKeys: readonly Buffer[] },
): Origin {
  const tables = bulk(database, { tenant, encryptionKeys })
  return {
    notes: [],
    count: (name) => tables[name].count(),
    async *pages<N extends BulkName>(name: N): AsyncGenerator<Item<BulkRows[N]>[]> {
      for await (const rows of tables[name].pages()) {
        yield rows.map((row) => ({ row: row, label: labelOf[name](row), faults: [] }))
      }
    },
    close: () => database.close(),
  }
}
