import { serverTypes } from "../schema/column-types.js"
import { entities } from "../schema/entities.js"

/** The name of the vindex that gives each tenant its shard. */
export const vindex = "tenant"

/** Returns the name of the unsharded keyspace that belongs to a sharded one. */
export const globalOf = (keyspace: string): string => `${keyspace}_global`

/**
 * Returns the vschema of each keyspace, by its name. In the sharded one a row is in the shard of its tenant, or of the first column of its
 * key where it has none. Both keyspaces have every table.
 */
export function vschemas(keyspace: string): Record<string, object> {
  const all = Object.values(entities(serverTypes)).map(({ options: { tableName = "", columns } }) => {
    const declared = Object.values(columns)
    const column = declared.find(({ name }) => name === "tenant") ?? declared.find(({ primary }) => primary)
    return [tableName, { columnVindexes: [{ column: column?.name, name: vindex }] }] as const
  })
  // The same rows are in every shard.
  const migrations = ["authwire_migrations", { type: "reference" }] as const
  const foreignKeyMode = "unmanaged"
  return {
    [keyspace]: {
      sharded: true,
      foreignKeyMode,
      vindexes: { [vindex]: { type: "xxhash" } },
      tables: Object.fromEntries([...all, migrations]),
    },
    [globalOf(keyspace)]: {
      sharded: false,
      foreignKeyMode,
      tables: Object.fromEntries([...all, migrations].map(([name]) => [name, {}])),
    },
  }
}
