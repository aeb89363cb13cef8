import { type Database, shardedOf } from "../store/sql/index.js"
import type { Diagnosis } from "./finding.js"
import { diagnoseVschema } from "./vschema.js"

/** Checks what vtgate decides in place of MySQL. Other databases have nothing of this. */
export async function diagnoseVitess({ dataSource, shards, withQueryRunner }: Database): Promise<Diagnosis[]> {
  const name = String(dataSource.options.database)
  // What is so for a shard is so for the unsharded keyspace beside it.
  if (dataSource.options.type !== "mysql" || name.includes(":")) return []
  return withQueryRunner(async (runner): Promise<Diagnosis[]> => {
    const [{ version }] = await runner.query("SELECT @@version AS version")
    if (!String(version).endsWith("-Vitess")) return []
    const [{ mode }] = await runner.query("SELECT @@transaction_mode AS mode")
    const keyspaces: Record<string, string>[] = await runner.query("SHOW VSCHEMA KEYSPACES")
    const keyspace = name.replace(/@.*/, "")
    const modeOf = (one: string) => keyspaces.find(({ Keyspace }) => Keyspace === one)?.["Foreign Key"]
    const sharded = shards && shardedOf(keyspace)
    return [
      { state: "ok", what: "Vitess", detail: `${version}; the service excludes its reads from the consolidator` },
      diagnoseForeignKeys(modeOf(keyspace)),
      ...(sharded
        ? [
            diagnoseForeignKeys(modeOf(sharded), `foreign key mode of ${sharded}`),
            await diagnoseVschema(runner, sharded),
          ]
        : []),
      { state: "ok", what: "transaction_mode", detail: `${mode}: each is right where a keyspace has one shard` },
      {
        state: "ok",
        what: "time-outs",
        detail:
          "query_timeout, which the service sets, takes the place of max_execution_time and lock_wait_timeout, which vtgate ignores. " +
          "A vttablet also ends statements after --queryserver-config-query-timeout, transactions after " +
          "--queryserver-config-transaction-timeout (30 s), and allows --queryserver-config-transaction-cap of them (20)",
      },
    ]
  })
}

function diagnoseForeignKeys(mode: string | undefined, what = "foreign key mode"): Diagnosis {
  if (mode === "unmanaged") return { state: "ok", what, detail: mode }
  if (mode === "managed")
    return { state: "warning", what, detail: `${mode}: should be unmanaged, which the service is tested with` }
  return {
    state: "wrong",
    what,
    detail: `${mode}: must be unmanaged, the foreignKeyMode of the vschema, because tables have foreign keys`,
  }
}
