import { Socket } from "node:net"
import { Pool, type PoolConfig } from "pg"
import { DataSource } from "typeorm"
import { StatementError } from "../../query/statement-error.js"
import { common } from "../data-source.js"
import { type Sockets, sockets } from "../sockets.js"
import { timeToConnect } from "../time-to-connect.js"
import type { PostgresLocation } from "../url/postgres-url.js"
import { passwordOf, serverOptions } from "./client-config.js"
import { statementError } from "./postgres-errors.js"

/**
 * The pool of pg, whose clients have a listener for errors from the moment when they are connected. The pool removes its own
 * listener before it hands a client over. If the server ends the connection in that moment, for example because it shuts
 * down, the client would emit an error without a listener, which ends the process.
 */
class ListeningPool extends Pool {
  constructor(config?: PoolConfig) {
    super(config)
    this.on("connect", (client) => client.on("error", () => {}))
  }
}

/** A TypeORM data source and the sockets of its connections. */
export interface PostgresDataSource {
  readonly dataSource: DataSource
  readonly sockets: Sockets
}

/** Opens TypeORM's data source for PostgreSQL. Throws StatementError. */
export async function openPostgresDataSource(
  location: PostgresLocation,
  { poolSize, connectTimeoutMs }: { poolSize: number; connectTimeoutMs: number },
): Promise<PostgresDataSource> {
  const { host, port, username, database, tls, applicationName = "authwire" } = location
  const options = serverOptions(location)
  const open = sockets()
  const dataSource = new DataSource({
    type: "postgres",
    // Only the pool and not the whole package, because TypeORM would use the native variant wherever it is installed.
    driver: { Pool: ListeningPool },
    ...{ host, port, database },
    ...(username === undefined ? {} : { username }),
    password: passwordOf(location),
    ssl: tls.options ?? false,
    applicationName,
    installExtensions: false,
    connectTimeoutMS: timeToConnect(location, connectTimeoutMs),
    // Two more than the statements of calls at the same time: for the ping and for the lookup of valid API keys.
    poolSize: poolSize + 2,
    extra: {
      // Networks drop idle connections without notice.
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      stream: () => open.add(new Socket()),
      ...(options === undefined ? {} : { options }),
    },
    ...common("postgres"),
  })
  try {
    await open.within(2 * connectTimeoutMs, dataSource.initialize())
    return { dataSource, sockets: open }
  } catch (error) {
    // The connections that it has opened would keep the process alive.
    await dataSource.driver.disconnect().catch(() => {})
    const { message, code } = statementError(error)
    throw new StatementError("unavailable", message, code)
  }
}
