import { serverTypes } from "../schema/column-types.js"
import { entities } from "../schema/entities.js"

/** The name of the vindex that gives each tenant its shard. */
export const vindex = "tenant"

/** Returns the name of the unsharded keyspace that belongs to a sharded one. */
export const globalOf = (keyspace: string): string => `${keyspace}_global`

/** Returns the name of the sharded keyspace to which an unsharded one belongs. */
export const shardedOf = (global: string): string => global.replace(/_global$/, "")

interface ShardedVschema {
  sharded: true
  foreignKeyMode: string
  vindexes: Record<string, { type: string }>
  tables: Record<string, { columnVindexes?: { column: string; name: string }[]; type?: string }>
}

/**
 * Returns the vschemas of a sharded keyspace and of the unsharded one beside it. In the sharded one a row is in the shard of its tenant, or
 * of the first column of its key where it has none. Both keyspaces have every table.
 */
export function vschemas(): { sharded: ShardedVschema; global: object } {
  const all = Object.values(entities(serverTypes)).map(({ options: { tableName = "", columns } }) => {
    const declared = Object.values(columns)
    const column = declared.find(({ name }) => name === "tenant") ?? declared.find(({ primary }) => primary)
    return [tableName, { columnVindexes: [{ column: String(column?.name), name: vindex }] }] as const
  })
  // The same rows are in every shard.
  const migrations = ["authwire_migrations", { type: "reference" }] as const
  const foreignKeyMode = "unmanaged"
  return {
    sharded: {
      sharded: true,
      foreignKeyMode,
      vindexes: { [vindex]: { type: "xxhash" } },
      tables: Object.fromEntries([...all, migrations]),
    },
    global: {
      sharded: false,
      foreignKeyMode,
      tables: Object.fromEntries([...all, migrations].map(([name]) => [name, {}])),
    },
  }
}
