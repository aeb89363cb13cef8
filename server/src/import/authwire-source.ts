import { type BulkName, type BulkRows, bulk, type Database, sessionPolicyStore } from "../store/sql/index.js"
import { type ImportSource, keyDigest, labelOf, type Page } from "./item.js"
import { replicaDoubt } from "./replica.js"

/** Returns a source that reads another Authwire database. `encryptionKeys` must include that database's keys. */
export async function authwireSource(
  database: Database,
  { tenant, encryptionKeys }: { tenant: string; encryptionKeys: readonly Buffer[] },
): Promise<ImportSource> {
  const tables = bulk(database, { tenant, encryptionKeys, withoutRevoked: true })
  const { type } = database.dataSource.options
  const replica = await database.withQueryRunner((runner) => replicaDoubt(type, (sql) => runner.query(sql)))
  return {
    notes: [],
    doubts: replica === undefined ? [] : [replica],
    count: (name) => tables[name].count(),
    async *pages<N extends BulkName>(name: N): AsyncGenerator<Page<BulkRows[N]>> {
      for await (const rows of tables[name].pages()) {
        const items = () =>
          rows.map((row) => ({
            row,
            key: keyDigest[name](row),
            label: labelOf[name](row),
            faults: [],
            conversions: [],
          }))
        yield { length: rows.length, items }
      }
    },
    sessionPolicy: () => sessionPolicyStore(database).get({ tenant }),
    close: () => database.close(),
  }
}
