import type { QueryRunner } from "typeorm"
import { vschemas } from "../store/sql/index.js"
import type { Diagnosis } from "./finding.js"

/** What decides in which shard a row is: a column, and the vindex that is applied to it. */
interface Sharding {
  column: unknown
  name: unknown
  type: unknown
}

/** Compares the vschema of a sharded keyspace with the one that `authwire migrate vschema` writes. Changes nothing. */
export async function diagnoseVschema(runner: QueryRunner, keyspace: string): Promise<Diagnosis> {
  const what = "vschema"
  const { vindexes, tables } = vschemas().sharded
  const faults: string[] = []
  for (const [table, { columnVindexes: [declared] = [] }] of Object.entries(tables)) {
    // The table of migrations has the same rows in every shard.
    const must = declared && { ...declared, type: vindexes[declared.name]?.type }
    const is = await shardingOf(runner, `\`${keyspace}\`.\`${table}\``)
    if (is === undefined) faults.push(`${table} is missing`)
    else if (textOf(is) !== textOf(must)) faults.push(`${table} has ${textOf(is)}, and must have ${textOf(must)}`)
  }
  if (faults.length === 0) return { state: "ok", what, detail: `${keyspace}: that of authwire migrate vschema` }
  const detail =
    `${keyspace}: ${faults.join("; ")}: a reshard would leave rows behind, or take them to another shard than their tenant. Run authwire` +
    ` migrate vschema --out . and vtctldclient ApplyVSchema --vschema-file ${keyspace}.vschema.json ${keyspace}; before you give rows another` +
    " vindex, export them, because they stay in the shard in which they are"
  return { state: "wrong", what, detail }
}

/** Returns null for a table without a vindex, and undefined for one that the vschema does not have. */
async function shardingOf(runner: QueryRunner, table: string): Promise<Sharding | null | undefined> {
  try {
    const [first] = await runner.query(`SHOW VSCHEMA VINDEXES ON ${table}`)
    return first ? { column: first.Columns, name: first.Name, type: first.Type } : null
  } catch (error) {
    if (String(error).includes("VT05005")) return undefined
    throw error
  }
}

const textOf = (sharding: Sharding | null | undefined): string =>
  sharding ? `the vindex ${sharding.name} (${sharding.type}) on ${sharding.column}` : "no vindex"
