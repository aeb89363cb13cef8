import { ConfigurationError } from "../../errors/configuration-error.js"
import { type DatabaseLocation, parseDatabaseUrl, withOfferedTls } from "../../store/sql/index.js"
import { mysqlSource } from "./mysql.js"
import { postgresSource } from "./postgres.js"
import type { Source } from "./source.js"
import { sqliteSource } from "./sqlite.js"

/** The longest time to wait for the answer whether a server offers encryption, in milliseconds. */
const offerMs = 10_000

/**
 * Opens the database of a peer. `onIgnored` gets the names of parameters that have no effect. Throws ConfigurationError for an invalid URL, StartError, and the errors of the driver.
 */
export async function openSource(
  url: string,
  onIgnored: (names: readonly string[]) => void = () => {},
): Promise<Source> {
  const location = await withOfferedTls(locationOf(url), offerMs)
  if (location.ignored.length > 0) onIgnored(location.ignored)
  if (location.kind === "postgres") return postgresSource(location)
  return location.kind === "sqlite" ? sqliteSource(location.path) : mysqlSource(location)
}

function locationOf(url: string): DatabaseLocation {
  try {
    return parseDatabaseUrl(url)
  } catch (error) {
    if (error instanceof TypeError) throw new ConfigurationError(`--url: ${error.message}`)
    throw error
  }
}
