import { Socket } from "node:net"
import { Pool } from "pg"
import { DataSource } from "typeorm"
import { common } from "../data-source.js"
import { type Sockets, sockets } from "../sockets.js"
import { StatementError } from "../statement-error.js"
import { statementError } from "./postgres-errors.js"
import type { PostgresLocation } from "./postgres-url.js"

/** A data source of TypeORM, and the sockets of its connections. */
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
    // Not the whole package: TypeORM would take the variant in C wherever that is installed.
    driver: { Pool },
    ...{ host, port, database },
    ...(username === undefined ? {} : { username }),
    // As text the driver would replace an empty one by those of its environment.
    password: () => password,
    ssl: ssl ?? false,
    applicationName: "authwire",
    installExtensions: false,
    connectTimeoutMS: connectTimeoutMs,
    // Two beyond the calls that the gate lets in: for the sign of life, and for who may come in.
    poolSize: poolSize + 2,
    extra: {
      // Networks forget connections that are silent, and tell nobody.
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
    // What it had opened by then would keep the process from ending.
    await dataSource.driver.disconnect().catch(() => {})
    const { message, code } = statementError(error)
    throw new StatementError("unavailable", message, code)
  }
}
