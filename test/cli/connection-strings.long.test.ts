import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import {
  createDatabase,
  createDatabaseOn,
  describeServers,
  ownServers,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { createUser } from "@authwire/test-support/databases/server-sql.js"
import { startTlsServer, type TlsServer } from "@authwire/test-support/databases/tls-server.js"
import { certificate } from "@authwire/test-support/processes/certificate.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { runProgram } from "../../server/src/cli/program.js"

/**
 * What every command does with a string: the server's log says that all its connections are encrypted, or that none is,
 * or the command says why it does not use the database.
 */
type Outcome = "encrypted" | "plain" | RegExp

const folder = mkdtempSync(join(tmpdir(), "authwire-strings-"))
const fileOf = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
// The server's authority is one that Node trusts, as those of providers are.
const authority = certificate("authority")
const [CA, STRANGER] = [authority, certificate("stranger")].map((one) => fileOf(`${one.name}.pem`, one.cert))
const NO_PEM = fileOf("no.pem", "no certificate")
const trusted = getCACertificates()
const [unverified, unnamed] = [/LEAF_SIGNATURE|HANDSHAKE_SSL.*authority/, /ALTNAME|HANDSHAKE_SSL.*name the host/]

// In the form of each provider, with this machine as the host. USER is the user and the password.
const ofPostgres: [string, Outcome][] = [
  // libpq
  ["postgres://USER@localhost/DB", "plain"],
  ["postgres://USER@localhost/DB?sslmode=disable", "plain"],
  ["postgres://USER@localhost/DB?sslmode=prefer", "encrypted"],
  ["postgres://USER@127.0.0.1/DB?sslmode=require", "encrypted"],
  [`postgres://USER@127.0.0.1/DB?sslmode=require&sslrootcert=${CA}`, "encrypted"],
  [`postgres://USER@127.0.0.1/DB?sslmode=require&sslrootcert=${STRANGER}`, unverified],
  [`postgres://USER@localhost/DB?sslrootcert=${CA}`, "encrypted"],
  [`postgres://USER@localhost/DB?sslrootcert=${STRANGER}`, unverified],
  [`postgres://USER@localhost/DB?sslmode=verify-full&sslrootcert=${CA}`, "encrypted"],
  [`postgres://USER@127.0.0.1/DB?sslmode=verify-full&sslrootcert=${CA}`, unnamed],
  ["postgres://USER@localhost/DB?sslmode=verify-full&sslrootcert=system", "encrypted"],
  ["postgres://USER@localhost/DB?sslrootcert=/no/such/file", /authority's certificate cannot be read \(ENOENT\)/],
  [`postgres://USER@localhost/DB?sslrootcert=${NO_PEM}`, /authority's certificate is not PEM/],
  ["postgres://USER@localhost/DB?application_name=shop&options=-c%20statement_timeout%3D9000", "plain"],
  // Node's driver
  ["postgres://USER@localhost/DB?ssl=true", "encrypted"],
  ["postgres://USER@127.0.0.1/DB?ssl=true", unnamed],
  ["postgres://USER@localhost/DB?ssl=false", "plain"],
  ["postgres://USER@localhost/DB?ssl=yes", /ssl must be true, 1, false/],
  // Neon. Only its own proxy knows the option.
  ["postgresql://USER@localhost/DB?sslmode=require&channel_binding=require", "encrypted"],
  ["postgresql://USER@localhost/DB?sslmode=require&options=endpoint%3Dep-cool-1", /42601|endpoint=ep-cool-1/],
  // Supabase
  ["postgresql://USER@localhost/DB?pgbouncer=true&connection_limit=1", "plain"],
  ["postgres://USER@localhost/DB?sslmode=require&supa=base-pooler.x", "encrypted"],
  // RDS
  [`postgresql://USER@localhost/DB?sslmode=verify-full&sslrootcert=${CA}&connect_timeout=15`, "encrypted"],
  // Prisma
  ["postgresql://USER@localhost/DB?schema=app&connection_limit=5&pool_timeout=20&sslmode=prefer", "encrypted"],
  ["postgresql://USER@localhost/DB?sslaccept=strict", /unknown parameter: sslaccept/],
]
const ofMysql: [string, Outcome][] = [
  // MySQL
  ["mysql://USER@localhost/DB", "plain"],
  ["mariadb://USER@localhost/DB", "plain"],
  ["mysql://USER@localhost/DB?ssl-mode=DISABLED", "plain"],
  ["mysql://USER@localhost/DB?ssl-mode=PREFERRED", "encrypted"],
  ["mysql://USER@127.0.0.1/DB?ssl-mode=REQUIRED", "encrypted"],
  [`mysql://USER@127.0.0.1/DB?ssl-ca=${CA}`, "encrypted"],
  [`mysql://USER@localhost/DB?ssl-ca=${STRANGER}`, unverified],
  [`mysql://USER@localhost/DB?ssl-mode=VERIFY_CA&ssl-ca=${STRANGER}`, unverified],
  ["mysql://USER@127.0.0.1/DB?ssl-mode=VERIFY_IDENTITY", /VERIFY_IDENTITY needs the name of a host/],
  ["mysql://USER@localhost/DB?ssl-ca=/no/such/file", /authority's certificate cannot be read \(ENOENT\)/],
  [`mysql://USER@localhost/DB?ssl-cert=${NO_PEM}&ssl-key=${NO_PEM}`, /client's certificate is not PEM/],
  [`mysql://USER@localhost/DB?ssl-mode=REQUIRED&ssl-cert=${CA}`, "encrypted"],
  // RDS, Aiven
  [`mysql://USER@localhost/DB?ssl-mode=VERIFY_IDENTITY&ssl-ca=${CA}`, "encrypted"],
  // Node's driver. The last one is a name of a built-in list of its own.
  ["mysql://USER@localhost/DB?ssl=true", "encrypted"],
  ["mysql://USER@localhost/DB?ssl=false&charset=utf8mb4&timezone=Z", "plain"],
  ["mysql://USER@localhost/DB?ssl=Amazon%20RDS", /ssl must be true, false/],
  // PlanetScale
  ['mysql://USER@localhost/DB?ssl={"rejectUnauthorized":true}', "encrypted"],
  ["mysql://USER@localhost/DB?sslaccept=strict", "encrypted"],
  // Prisma
  ["mysql://USER@localhost/DB?connection_limit=5&pool_timeout=2&socket_timeout=3", "plain"],
  ["mysql://USER@127.0.0.1/DB?sslaccept=accept_invalid_certs", "encrypted"],
  [`mysql://USER@localhost/DB?sslcert=${STRANGER}&sslaccept=strict`, unverified],
  ["mysql://USER@localhost/DB?sslmode=require", /unknown parameter: sslmode/],
]
/** What these do at a server without TLS. */
const withoutTls: [string, Outcome][] = [
  ["postgres://USER@localhost/DB?sslmode=prefer", "plain"],
  ["postgres://USER@localhost/DB?sslmode=require", /does not support SSL|ECONNRESET|TLS/],
  [`postgres://USER@localhost/DB?sslrootcert=${CA}`, /does not support SSL/],
  ["postgres://USER@localhost/DB?ssl=true", /does not support SSL/],
  ["mysql://USER@localhost/DB?ssl-mode=PREFERRED", "plain"],
  ["mysql://USER@localhost/DB?ssl-mode=REQUIRED", /HANDSHAKE_NO_SSL_SUPPORT/],
  [`mysql://USER@localhost/DB?ssl-ca=${CA}`, /HANDSHAKE_NO_SSL_SUPPORT/],
  ["mysql://USER@localhost/DB?sslaccept=strict", /HANDSHAKE_NO_SSL_SUPPORT/],
]

/** The tables of Prisma, empty. */
const prismaTables = {
  User: '"id" varchar(64) PRIMARY KEY, "email" varchar(99)',
  Account:
    '"userId" varchar(64), "type" varchar(9), "provider" varchar(99), "providerAccountId" varchar(99), PRIMARY KEY ("provider", "providerAccountId")',
  Session: '"sessionToken" varchar(99) PRIMARY KEY, "userId" varchar(64), "expires" varchar(30)',
}
const isRead = /^users +0 +0$/m

/** The commands that open it as Authwire's database, which has no tables yet, and as the source of an import. */
const commands: [command: string, option: "DATABASE" | "SOURCE", args: string[], isDone: RegExp][] = [
  ["serve", "DATABASE", ["--grpc-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0"], /migration is pending/],
  ["migrate status", "DATABASE", [], /^pending 0001-initial$/m],
  ["doctor", "DATABASE", [], /0001-initial pending/],
  ["import", "SOURCE", ["--from=prisma"], isRead],
  ["doctor", "SOURCE", ["--from=prisma"], isRead],
  ["import", "SOURCE", ["--from=authwire"], /migration is pending/],
]

/** Runs a command in this process. Returns what it says. */
async function said(command: string, args: readonly string[], environment: Record<string, string>): Promise<string> {
  const texts: string[] = []
  const say = (text: string) => void texts.push(text)
  const output = { say, print: async (text: string) => say(text) }
  const given = { AUTH_SECRET: testSecret, AUTHWIRE_LOG_LEVEL: "error", ...environment }
  try {
    await runProgram([...command.split(" "), ...args], { environment: given, version: "1.2.3", output })
  } catch (error) {
    if (!(error instanceof Error) || !/^(Start|Configuration)Error$/.test(error.name)) throw error
    say(error.message)
  }
  return texts.join("")
}

let target: TestDatabase

beforeAll(async () => {
  setDefaultCACertificates([...trusted, authority.cert])
  target = await createDatabase("sqlite")
  await migrate(target)
})
afterAll(async () => {
  setDefaultCACertificates(trusted)
  await target.drop()
  rmSync(folder, { recursive: true })
})

describeServers(
  "a connection string of %s",
  (engine) => {
    const isOfEngine = ([url]: [string, Outcome]) => url.startsWith("postgres") === (engine === "postgres")

    describe.each([
      ["that offers TLS", certificate("localhost", { issuer: authority }), [...ofPostgres, ...ofMysql]],
      ["without TLS", undefined, withoutTls],
    ])("at a server %s", (_, own, strings) => {
      let server: TlsServer
      /** The database with the tables in a schema, as the URL names it, and the user who may read them. */
      const databases = new Map<string, { name: string; user: string }>()

      beforeAll(async () => {
        server = await startTlsServer(engine, own)
        const isPostgres = engine === "postgres"
        for (const schema of isPostgres ? ["public", "app"] : [""]) {
          const created = await createDatabaseOn(server)
          if (schema === "app") await created.query("CREATE SCHEMA app")
          for (const [table, columns] of Object.entries(prismaTables)) {
            const statement = `CREATE TABLE ${isPostgres ? `${schema}.` : ""}"${table}" (${columns})`
            await created.query(isPostgres ? statement : statement.replaceAll('"', "`"))
          }
          const { pathname, username, password } = new URL(await createUser(created, `shop${schema}`, "p@ss:/#%"))
          if (schema === "app") {
            await created.query(`GRANT USAGE ON SCHEMA app TO ${username}`)
            await created.query(`GRANT SELECT ON ALL TABLES IN SCHEMA app TO ${username}`)
          }
          databases.set(schema, { name: pathname.slice(1), user: `${username}:${password}` })
        }
      }, 120_000)
      afterAll(() => server?.remove())

      test.each(strings.filter(isOfEngine))("%s", async (string, outcome) => {
        const schema = engine === "postgres" ? (/schema=(\w+)/.exec(string)?.[1] ?? "public") : ""
        const { name, user } = databases.get(schema) as { name: string; user: string }
        const url = string.replace("USER", user).replace(/(@[^/]*)\/DB/, `$1:${server.port}/${name}`)
        server.connections(name)
        for (const [command, option, args, isDone] of commands) {
          const environment = { AUTHWIRE_DATABASE_URL: target.url, [`AUTHWIRE_${option}_URL`]: url }
          const text = await said(command, args, environment)
          const connections = server.connections(name)
          const kinds = new Set(connections.map((isEncrypted) => (isEncrypted ? "encrypted" : "plain")))
          const result = isDone.test(text) ? [...kinds].join(" and ") : "refused"
          const isWanted = typeof outcome === "string"
          expect({ command, args, text, result }).toEqual({
            command,
            args,
            text: expect.stringMatching(isWanted ? isDone : outcome),
            result: isWanted ? outcome : "refused",
          })
          // What is refused was not tried in plain text, and no error has the password.
          if (!isWanted) expect(kinds).not.toContain("plain")
          expect(text).not.toMatch(/p@ss|p%40ss/)
        }
      })
    })
  },
  ownServers(),
)

test("a file of Prisma is the one beside its schema, and its parameters are named", async () => {
  mkdirSync(join(folder, "prisma"))
  const application = new DatabaseSync(join(folder, "prisma", "dev.db"))
  for (const [table, columns] of Object.entries(prismaTables)) application.exec(`CREATE TABLE "${table}" (${columns})`)
  application.close()
  for (const [command, option, args, isDone] of commands) {
    const string = { [`AUTHWIRE_${option}_URL`]: "file:./dev.db?connection_limit=1" }
    const environment = { AUTH_SECRET: testSecret, AUTHWIRE_DATABASE_URL: target.url, ...string }
    const { stdout, stderr } = await run([...command.split(" "), ...args], environment, folder)
    expect(stdout + stderr).toMatch(isDone)
    expect(stderr).toMatch(/"connection_limit".*have no effect/)
  }
  expect(existsSync(join(folder, "dev.db"))).toBe(false)
})
