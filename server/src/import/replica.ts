/** Runs a statement. Each row is a list of cells, or has them by their names. */
type Query = (sql: string) => Promise<readonly object[]>

const lag = "it may lack what its primary has"

async function postgresReplica(query: Query): Promise<string | undefined> {
  const [row = {}] = await query("SELECT pg_is_in_recovery()::text")
  if (Object.values(row)[0] === "true") return `the server is a standby: ${lag}`
  const ofDatabase = "subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
  const subscriptions = await query(`SELECT subname FROM pg_subscription WHERE ${ofDatabase}`)
  return subscriptions.length > 0 ? `the database is a replica by a subscription: ${lag}` : undefined
}

/** The statement of MariaDB, that of MySQL, and that of MySQL before 8.0.22. The others cannot parse it. */
const statements = ["SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"]

/** For whom has no right to know, a server that accepts no writes may be one. Members of a replication group are not found. */
async function mysqlReplica(query: Query): Promise<string | undefined> {
  for (const statement of statements) {
    try {
      const channels = await query(statement)
      return channels.length > 0 ? `the server is a replica: ${lag}` : undefined
    } catch (error) {
      const { code } = error as { code?: unknown }
      if (code === "ER_SPECIFIC_ACCESS_DENIED_ERROR") break
      if (code !== "ER_PARSE_ERROR") throw error
    }
  }
  const [row = {}] = await query("SELECT @@global.read_only")
  if (["0", "OFF"].includes(String(Object.values(row)[0]))) return undefined
  return `the server is read-only, and its user has no right to see whether it is a replica: ${lag}`
}

const checks: Readonly<Record<string, ((query: Query) => Promise<string | undefined>) | undefined>> = {
  ...{ mysql: mysqlReplica, mariadb: mysqlReplica, postgres: postgresReplica },
}

/** Returns why a database may not have every row: it is a replica. Undefined if it is none. */
export async function replicaDoubt(engine: string, query: Query): Promise<string | undefined> {
  return checks[engine]?.(query)
}
