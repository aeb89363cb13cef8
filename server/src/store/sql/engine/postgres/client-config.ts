import type { ClientConfig } from "pg"
import type { PostgresLocation } from "../url/postgres-url.js"

/** Returns the driver's configuration of a single connection. */
export function clientConfig(location: PostgresLocation): ClientConfig {
  const { host, port, username, database, tls, applicationName = "authwire" } = location
  const options = serverOptions(location)
  return {
    ...{ host, port, database },
    ...(username === undefined ? {} : { user: username }),
    password: passwordOf(location),
    ssl: tls.options ?? false,
    application_name: applicationName,
    ...(options === undefined ? {} : { options }),
  }
}

/**
 * Returns the function that the driver calls for the password of each connection. A function also if there is only one
 * password, because the driver replaces an empty string by the password of its environment.
 */
export function passwordOf({ password, readPassword }: PostgresLocation): () => Promise<string> {
  return readPassword ?? (async () => password)
}

/** Returns the options for the server's process of each connection: those of the URL, and the schema. */
export function serverOptions({ options, schema }: PostgresLocation): string | undefined {
  if (schema === undefined) return options
  // A backslash stands before what would end a value: PostgreSQL's own quoting in options.
  const path = `"${schema.replaceAll('"', '""')}"`.replaceAll(/[\\\s]/g, "\\$&")
  return `${options ?? ""} -c search_path=${path}`.trim()
}
