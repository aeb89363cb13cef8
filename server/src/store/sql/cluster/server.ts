import type { Freshness } from "../engine/mysql/consistency.js"
import { type MysqlEngine, mysqlEngine } from "../engine/mysql/mysql.js"
import { openServerDataSource } from "../engine/mysql/mysql-data-source.js"
import type { ServerLocation } from "../engine/url/url.js"

export interface ServerOptions {
  poolSize: number
  statementTimeoutMs: number
  connectTimeoutMs: number
  freshness: Freshness
  onTrouble?: (() => void) | undefined
}

/** Opens the engine of a MySQL or MariaDB server. Throws StatementError. */
export async function openServer(location: ServerLocation, options: ServerOptions): Promise<MysqlEngine> {
  const engine = mysqlEngine({ ...(await openServerDataSource(location, options)), ...options })
  try {
    const first = await engine.connect()
    first.release()
    return engine
  } catch (error) {
    await engine.close()
    throw error
  }
}
