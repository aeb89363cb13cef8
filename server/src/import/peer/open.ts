import { fileURLToPath } from "node:url"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { parseDatabaseUrl } from "../../store/sql/index.js"
import { mysqlSource } from "./mysql.js"
import { postgresSource } from "./postgres.js"
import type { Source } from "./source.js"
import { sqliteSource } from "./sqlite.js"

const forms = "mysql://…, mariadb://…, postgresql://…, sqlite:FILE or file:FILE"

/**
 * Opens the database of a peer. Throws ConfigurationError for an invalid URL, StartError, and the errors of the driver.
 */
export async function openSource(url: string): Promise<Source> {
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return postgresSource(url)
  // Prisma's form of a SQLite URL. The path may be relative.
  if (url.startsWith("file://")) return sqliteSource(fileURLToPath(url))
  if (url.startsWith("file:")) return sqliteSource(url.slice("file:".length))
  if (!/^(mysql|mariadb|sqlite):/.test(url)) throw new ConfigurationError(`--url: must be ${forms}`)
  try {
    const location = parseDatabaseUrl(url)
    if (location.kind === "postgres") return await postgresSource(url)
    return location.kind === "sqlite" ? await sqliteSource(location.path) : await mysqlSource(location)
  } catch (error) {
    if (error instanceof TypeError) throw new ConfigurationError(`--url: ${error.message}`)
    throw error
  }
}
