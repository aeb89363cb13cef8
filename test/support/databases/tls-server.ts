import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Client } from "pg"
import type { Certificate } from "../processes/certificate.js"
import { until } from "../until.js"
import { createDatabaseOn, type PrivateServer, type ServerEngine, startPrivateDatabase } from "./databases.js"

/** A server whose log says of each connection whether it is encrypted. */
export interface TlsServer extends PrivateServer {
  /** Returns of each connection to the database since the last call whether it was encrypted. */
  connections(database: string): boolean[]
}

/**
 * Starts a server of its own that offers TLS with the certificate, or without one does not offer it. Throws if its
 * program is not installed. The caller must `remove()` it.
 */
export async function startTlsServer(engine: ServerEngine, certificate?: Certificate): Promise<TlsServer> {
  const options =
    engine === "postgres" ? ["-c", "log_connections=on"] : ["--general-log=1", "--general-log-file=general.log"]
  if (engine === "mysql" && certificate === undefined) options.push("--auto-generate-certs=OFF", "--tls-version=")
  if (engine !== "postgres" && certificate !== undefined) options.push(...filesOf(certificate))
  const server = await startPrivateDatabase(engine, options)
  if (server === null) throw new Error(`no ${engine}`)
  if (engine === "postgres" && certificate !== undefined) await offerTls(server, certificate)
  const log = engine === "postgres" ? join(dirname(server.dataFolder), "log") : join(server.dataFolder, "general.log")
  let read = 0
  return {
    ...server,
    connections(database) {
      const lines = readFileSync(log, "utf8").slice(read)
      read += lines.length
      const isConnection = engine === "postgres" ? "connection authorized: .* database=" : "\\bConnect\\b.* on "
      const found = lines.match(new RegExp(`${isConnection}${database}\\b.*`, "g")) ?? []
      return found.map((line) => /SSL/.test(line))
    },
  }
}

function filesOf({ cert, key }: Certificate): string[] {
  const folder = mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "tls-"))
  return Object.entries({ cert, key }).map(([name, text]) => {
    const path = join(folder, `${name}.pem`)
    writeFileSync(path, text)
    return `--ssl-${name}=${path}`
  })
}

async function offerTls(server: PrivateServer, { cert, key }: Certificate): Promise<void> {
  const database = await createDatabaseOn(server)
  // The server writes the files itself, because it must own them.
  for (const [name, text] of Object.entries({ "own.crt": cert, "own.key": key })) {
    const lines = text
      .trim()
      .split("\n")
      .map((line) => `('${line}')`)
    await database.query(`COPY (VALUES ${lines.join(", ")}) TO PROGRAM 'umask 077; cat > ${name}'`)
  }
  for (const [name, value] of Object.entries({ ssl_cert_file: "own.crt", ssl_key_file: "own.key", ssl: "on" })) {
    await database.query(`ALTER SYSTEM SET ${name} = '${value}'`)
  }
  await database.query("SELECT pg_reload_conf()")
  await until(async () => {
    const client = new Client({ connectionString: server.url, ssl: { rejectUnauthorized: false } })
    const isOffered = await client.connect().then(
      () => true,
      () => false,
    )
    await client.end()
    return isOffered
  })
  await database.drop()
}
