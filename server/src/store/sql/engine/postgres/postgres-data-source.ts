import { Socket } from "node:net"
import { Pool } from "pg"
import { DataSource } from "typeorm"
import { common } from "../data-source.js"
import { type Sockets, sockets } from "../sockets.js"
import { StatementError } from "../statement-error.js"
import { statementError } from "./postgres-errors.js"
import type { PostgresLocation } from "./postgres-url.js"

/** A TypeORM data source and the sockets of its connections. */
export interface PostgresDataSource {
  readonly dataSource: DataSource
  readonly sockets: Sockets
}

/** Opens TypeORM's data source for PostgreSQL. Throws StatementError. */
export async function openPostgresDataSource(
  { host, port, username, password, database, ssl }: PostgresLocation,
  { poolSize, connectTimeoutMs }: { poolSize: number; connectTimeoutMs: number },
): Promise<PostgresDataSource> {
  const open = sockets()
  const dataSource = new DataSource({
    type: "postgres",
    // Only the pool and not the whole package, because TypeORM would use the native variant wherever it is installed.
    driver: { Pool },
    ...{ host, port, database },
    ...(username === undefined ? {} : { username }),
    // A function, because the driver replaces an empty string by the password of its environment.
    password: () => password,
    ssl: ssl ?? false,
    applicationName: "authwire",
    installExtensions: false,
    connectTimeoutMS: connectTimeoutMs,
    // Two more than the calls that the gate admits: for the ping and for the lookup of valid API keys.
    poolSize: poolSize + 2,
    extra: {
      // Networks drop idle connections without notice.
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      stream: () => open.add(new Socket()),
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
