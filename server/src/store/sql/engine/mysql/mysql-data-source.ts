import mysql from "mysql2"
import { type Connection, createConnection } from "mysql2/promise"
import { DataSource } from "typeorm"
import { StatementError } from "../../query/statement-error.js"
import { connectionOptions, sslOptions } from "../connection-options.js"
import { common } from "../data-source.js"
import { type Sockets, sockets } from "../sockets.js"
import { timeToConnect } from "../time-to-connect.js"
import type { ServerLocation } from "../url/url.js"
import { type Cluster, clusterOf } from "./member-state.js"
import { statementError } from "./mysql-errors.js"
import { isShard, isShardedKeyspace, nameSchema } from "./sharded-keyspace.js"

/** Opens TypeORM's data source for a server and detects whether it is MySQL or MariaDB. Throws StatementError. */
export async function openServerDataSource(
  location: ServerLocation,
  options: { poolSize: number; connectTimeoutMs: number },
): Promise<{ dataSource: DataSource; cluster: Cluster | undefined; isSharded: boolean }> {
  const open = sockets()
  try {
    return await open.within(2 * options.connectTimeoutMs, connectToServer(location, options, open))
  } catch (error) {
    const { message, code } = statementError(error)
    throw new StatementError("unavailable", message, code)
  }
}

async function connectToServer(
  location: ServerLocation,
  options: { poolSize: number; connectTimeoutMs: number },
  open: Sockets,
) {
  const { host, port, username, password, database } = location
  const ssl = sslOptions(location)
  const connectTimeout = timeToConnect(location, options.connectTimeoutMs)
  const reach = connectionOptions(location, open)
  const probe = await createConnection({ ...reach, connectTimeout })
  const { version, cluster, isSharded } = await kindOf(probe, database).finally(() => probe.end())
  const engine = /mariadb/i.test(version) ? "mariadb" : "mysql"
  const dataSource = new DataSource({
    type: engine,
    driver: mysql,
    ...{ host, port, username, password, database, connectTimeout },
    ...(ssl === undefined ? {} : { ssl }),
    charset: "utf8mb4",
    timezone: "Z",
    // Two more than the statements of calls at the same time: for the ping and for the lookup of valid API keys.
    poolSize: options.poolSize + 2,
    extra: {
      stream: reach.stream,
      authPlugins: reach.authPlugins,
      enableCleartextPlugin: reach.enableCleartextPlugin,
      connectAttributes: { program_name: "authwire" },
      // Networks drop idle connections without notice.
      maxIdle: options.poolSize,
      idleTimeout: 60_000,
      gracefulEnd: true,
    },
    ...common(engine),
  })
  await dataSource.initialize().catch(async (error: unknown) => {
    // The connections that it has opened would keep the process alive.
    await dataSource.driver.disconnect().catch(() => {})
    throw error
  })
  if (isShard(database)) await nameSchema(dataSource)
  return { dataSource, cluster, isSharded }
}

async function kindOf(probe: Connection, database: string) {
  const [rows] = await probe.query<mysql.RowDataPacket[]>("SELECT VERSION() AS version")
  // In a shard, its server would answer.
  const cluster = isShard(database) ? "vitess" : await clusterOf(probe)
  const isSharded = cluster === "vitess" && (await isShardedKeyspace(probe, database))
  return { version: String(rows[0]?.version), cluster, isSharded }
}
