import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createDatabase, databaseTargets } from "@authwire/test-support/databases/databases.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { certificate } from "@authwire/test-support/processes/certificate.js"
import { afterAll, describe, expect, test } from "@jest/globals"
import { type DatabaseLocation, openDatabase, parseDatabaseUrl } from "../../index.js"
import type { TlsLevel } from "./tls.js"

const folder = mkdtempSync(join(tmpdir(), "authwire-url-"))
afterAll(() => rmSync(folder, { recursive: true }))
const fileOf = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
// A certificate and its key.
const pem = Object.values(certificate("a")).join("")
const ca = fileOf("pem", pem)
const other = fileOf("other", certificate("b").key)
const empty = fileOf("empty", "")

describe("the parts of a database URL", () => {
  test.each<[string, object]>([
    ["sqlite:data/authwire.db", { kind: "sqlite", path: "data/authwire.db", ignored: [] }],
    ["sqlite:/var/lib/a b%20.db", { kind: "sqlite", path: "/var/lib/a b%20.db" }],
    ["sqlite::memory:", { kind: "sqlite", path: ":memory:" }],
    ["file:./dev.db?connection_limit=1", { kind: "sqlite", path: "./dev.db", ignored: ["connection_limit"] }],
    ["file:///var/lib/a%20b.db", { kind: "sqlite", path: "/var/lib/a b.db" }],
    [
      "mysql://user:pass@db.example.com:3307/authwire",
      { kind: "server", host: "db.example.com", port: 3307, username: "user", password: "pass", database: "authwire" },
    ],
    [
      "mariadb://root@[::1]/a%20b",
      { kind: "server", host: "::1", port: 3306, username: "root", password: "", database: "a b" },
    ],
    [
      "mysql://a%40b:p%40%3A%2F%23@localhost/x?socket=/run/mysqld/mysqld.sock&ssl-mode=DISABLED",
      { host: "localhost", username: "a@b", password: "p@:/#", database: "x", socketPath: "/run/mysqld/mysqld.sock" },
    ],
    ["postgres://localhost/x", { kind: "postgres", host: "localhost", port: 5432, username: undefined, database: "x" }],
    [
      "postgresql://a%40b:p%40%3A%2F%23@[::1]:5433/a%20b",
      { host: "::1", port: 5433, username: "a@b", password: "p@:/#", database: "a b" },
    ],
    ["postgres://u@%2Frun%2Fpostgresql/x", { host: "/run/postgresql", username: "u", database: "x" }],
    ["postgres:///x?host=/run/postgresql", { host: "/run/postgresql", database: "x" }],
    [
      "postgresql://u:p%40@/x?host=/cloudsql/project:region:name",
      { host: "/cloudsql/project:region:name", port: 5432, username: "u", password: "p@", database: "x" },
    ],
    ["postgres://u@:5433/x?host=/run/postgresql", { host: "/run/postgresql", port: 5433, username: "u" }],
    ["postgres://u:p@/x?host=/run&sslmode=verify-full", { host: "/run", tls: { level: "none" } }],
    [
      "postgres:///?host=h&port=5433&user=u&password=p%26q&dbname=x",
      { host: "h", port: 5433, username: "u", password: "p&q", database: "x" },
    ],
    ["postgres://a:b@h:1/x?user=u&password=p&port=2", { host: "h", port: 2, username: "u", password: "p" }],
    ["postgres://:p@h/x", { host: "h", username: undefined, password: "p" }],
    ["mysql://u:p@/x?socketPath=/cloudsql/name", { host: "localhost", username: "u", socketPath: "/cloudsql/name" }],
    ["mysql://h/x?user=u&password=p&port=3307", { host: "h", port: 3307, username: "u", password: "p" }],
    ["postgres://h/x?schema=app&application_name=a", { schema: "app", applicationName: "a" }],
    ["postgres://h/x?options=-c%20search_path%3Dapp", { options: "-c search_path=app" }],
  ])("%s", (url, location) => {
    expect(parseDatabaseUrl(url)).toMatchObject(location)
  })
})

// Each provider's own form, as its console or its guide prints it.
describe("the encryption of a connection, and the parameters that have no effect", () => {
  test.each<[string, TlsLevel, string[]?]>([
    // libpq
    ["postgres://u:p@db/x", "none"],
    ["postgres://u:p@db/x?sslmode=disable", "none"],
    ["postgres://u:p@db/x?sslmode=allow", "preferred"],
    ["postgres://u:p@db/x?sslmode=prefer", "preferred"],
    ["postgres://u:p@db/x?sslmode=require", "encrypted"],
    [`postgres://u:p@db/x?sslmode=require&sslrootcert=${ca}`, "authority"],
    ["postgres://u:p@db/x?sslmode=verify-ca", "authority"],
    [`postgres://u:p@db/x?sslmode=verify-full&sslrootcert=${ca}`, "identity"],
    // A certificate without a mode is not ignored.
    [`postgres://u:p@db/x?sslrootcert=${ca}`, "authority"],
    [`postgres://u:p@db/x?sslcert=${ca}&sslkey=${ca}`, "encrypted"],
    ["postgres://u:p@db/x?sslrootcert=system", "identity"],
    // Node's driver
    ["postgres://u:p@db/x?ssl=true", "identity"],
    ["postgres://u:p@db/x?ssl=false", "none"],
    ["postgres://u:p@db/x?ssl=0", "none"],
    ["postgres://u:p@db/x?sslmode=no-verify", "encrypted"],
    [`postgres://u:p@db/x?sslmode=no-verify&sslrootcert=${ca}`, "encrypted"],
    // Neon
    [
      "postgresql://u:p@ep-cool-1.eu-central-1.aws.neon.tech/neondb?sslmode=require&channel_binding=require",
      "encrypted",
      ["channel_binding"],
    ],
    ["postgres://u:p@ep-cool-1.neon.tech/neondb?sslmode=verify-full&options=endpoint%3Dep-cool-1", "identity"],
    // Supabase
    [
      "postgresql://postgres.abc:p@aws-0-eu-central-1.pooler.supabase.com:6543/postgres?pgbouncer=true&connection_limit=1",
      "none",
      ["pgbouncer", "connection_limit"],
    ],
    [
      "postgres://postgres:p@db.abc.supabase.co:5432/postgres?sslmode=require&supa=base-pooler.x",
      "encrypted",
      ["supa"],
    ],
    // Prisma
    [
      "postgresql://u:p@localhost:5432/x?schema=public&pool_timeout=20&connect_timeout=300&socket_timeout=5",
      "none",
      ["pool_timeout", "connect_timeout", "socket_timeout"],
    ],
    [
      "mysql://u:p@localhost:3306/x?connection_limit=5&pool_timeout=2&socket_timeout=3",
      "none",
      ["connection_limit", "pool_timeout", "socket_timeout"],
    ],
    ["mysql://u:p@db/x?sslaccept=accept_invalid_certs", "encrypted"],
    [`mysql://u:p@db/x?sslcert=${ca}&sslaccept=strict`, "identity"],
    [`mysql://u:p@db/x?sslcert=${ca}`, "authority"],
    // PlanetScale
    ["mysql://u:pscale_pw_x@aws.connect.psdb.cloud/x?sslaccept=strict", "identity"],
    ["mysql://u:pscale_pw_x@aws.connect.psdb.cloud/x?ssl={%22rejectUnauthorized%22:true}", "identity"],
    ['mysql://u:p@db/x?ssl={"rejectUnauthorized":false}', "encrypted"],
    // RDS, Aiven, TiDB Cloud, DigitalOcean
    [`mysql://admin:p@x.abc.eu-central-1.rds.amazonaws.com:3306/x?ssl-mode=VERIFY_IDENTITY&ssl-ca=${ca}`, "identity"],
    ["mysql://avnadmin:p@x.aivencloud.com:12345/defaultdb?ssl-mode=REQUIRED", "encrypted"],
    // MySQL
    ["mysql://u:p@db/x", "none"],
    ["mysql://u:p@db/x?ssl-mode=DISABLED", "none"],
    ["mysql://u:p@db/x?ssl-mode=PREFERRED", "preferred"],
    [`mysql://u:p@db/x?ssl-ca=${ca}`, "authority"],
    [`mysql://u:p@db/x?ssl-cert=${ca}&ssl-key=${ca}`, "encrypted"],
    ["mysql://u:p@db/x?ssl=true", "identity"],
    ["mysql://u:p@db/x?ssl=false&charset=utf8mb4&timezone=Z", "none", ["charset", "timezone"]],
  ])("%s", (url, level, ignored = []) => {
    const location = parseDatabaseUrl(url) as Exclude<DatabaseLocation, { kind: "sqlite" }>
    expect([location.tls.level, location.ignored]).toEqual([level, ignored])
    const { options } = location.tls
    expect(options?.rejectUnauthorized ?? false).toBe(level === "authority" || level === "identity")
    // Node itself compares the host, unless the function is replaced.
    if (options !== undefined) expect(options.checkServerIdentity === undefined).toBe(level === "identity")
    const isRead = url.includes(ca)
    expect([options?.ca, options?.cert].includes(pem)).toBe(isRead)
  })
})

describe("a database URL is rejected, without quoting it", () => {
  test.each([
    ["a scheme that it does not know", "oracle://user:hunter2@localhost/x", /mysql:.*postgres:.*sqlite:/],
    ["what is no URL of PostgreSQL", "postgres://user:hunter2@:bad:/x", /must be postgres:/],
    ["no database of PostgreSQL", "postgres://user:hunter2@localhost", /names no database/],
    [
      "a parameter of another server",
      "postgres://u:hunter2@localhost/x?ssl-mode=REQUIRED",
      /unknown parameter: ssl-mode/,
    ],
    ["an sslmode that it does not know", "postgres://u:hunter2@localhost/x?sslmode=hunter2", /sslmode must be disable/],
    [
      "the authorities of the system, unverified",
      "postgres://u:hunter2@h/x?sslrootcert=system&sslmode=require",
      /verify-full/,
    ],
    ["a port that is none", "postgres://u:hunter2@h/x?port=hunter2", /port must be a number/],
    ["two hosts of PostgreSQL", "postgres://u:hunter2@one,two/x", /must name one host/],
    ["a password that is not UTF-8", "postgres://u:hunter2%ff@h/x", /^the password .* must be encoded UTF-8/],
    ["a password with a % of its own", "mysql://u:hunter2%@h/x", /^the password .*; a % of its own is %25/],
    ["a user that is not UTF-8", "mysql://hunter2%c3:p@h/x", /^the user .* must be/],
    ["a host that is not UTF-8", "postgres://u:hunter2@h%ff/x", /^the host .* must be/],
    ["a database that is not UTF-8", "mariadb://u:hunter2@h/x%80", /^the database .* must be/],
    ["a parameter that is not UTF-8", "postgres://h/x?password=hunter2%ff", /^the parameters .* must be/],
    ["a file that is not UTF-8", "file:hunter2%ff", /^the file .* must be/],
    ["no scheme", "localhost:3306/hunter2", /mysql:.*sqlite:/],
    ["what is no URL of MySQL", "mysql://user:hunter2@:bad:/x", /must be mysql:/],
    ["no database", "mysql://user:hunter2@localhost", /names no database/],
    ["no file", "sqlite:", /names no file/],
    ["no file of Prisma", "file:?connection_limit=1", /names no file/],
    [
      "a parameter that the parser does not know",
      "mysql://u:hunter2@localhost/x?sslmode=require",
      /unknown parameter: sslmode/,
    ],
    ["an ssl-mode that it does not know", "mysql://u:hunter2@localhost/x?ssl-mode=hunter2", /ssl-mode must be/],
    ["an ssl that is no JSON", "mysql://u:hunter2@localhost/x?ssl=Amazon%20RDS", /ssl must be true, false/],
    ["a certificate that does not exist", `mysql://u:hunter2@h/x?ssl-ca=${folder}/no`, /authority's .* \(ENOENT\)/],
    ["a certificate that is not PEM", `postgres://u:hunter2@h/x?sslrootcert=${empty}`, /authority's .* is not PEM/],
    ["a key of another certificate", `mysql://u:hunter2@h/x?ssl-cert=${ca}&ssl-key=${other}`, /belong together/],
    ["an identity that cannot be verified", "mysql://u:hunter2@127.0.0.1/x?ssl-mode=VERIFY_IDENTITY", /name of a host/],
  ])("%s", (_, url, message) => {
    const parse = () => parseDatabaseUrl(url)
    expect(parse).toThrow(TypeError)
    expect(parse).toThrow(message)
    expect(parse).not.toThrow(/hunter2/)
  })
})

if (databaseTargets().includes("mysql")) {
  describe("ssl-mode with mysql", () => {
    const cipherWith = async (parameters: string) => {
      const empty = await createDatabase("mysql")
      try {
        const database = await openDatabase({ url: `${empty.url}?${parameters}` })
        const rows = await database.reads({}).read(plainSql("SHOW SESSION STATUS LIKE 'Ssl_cipher'"), [])
        await database.close()
        return rows[0]?.[1]
      } finally {
        await empty.drop()
      }
    }

    test("DISABLED does not encrypt, REQUIRED does", async () => {
      expect(await cipherWith("ssl-mode=DISABLED")).toBe("")
      expect(await cipherWith("ssl-mode=REQUIRED")).toMatch(/./)
      // The server offers encryption.
      expect(await cipherWith("ssl-mode=PREFERRED")).toMatch(/./)
    })

    test("VERIFY_CA rejects a certificate without a trusted authority", async () => {
      await expect(cipherWith("ssl-mode=VERIFY_CA")).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    })

    test("VERIFY_CA accepts the server's own authority; VERIFY_IDENTITY also requires the host's name", async () => {
      const empty = await createDatabase("mysql")
      const [row] = await empty.query("SELECT CONCAT(@@datadir, @@ssl_ca) AS path")
      await empty.drop()
      // The files of a server on another machine are not readable here.
      if (!existsSync(String(row?.path))) return
      const ca = `ssl-ca=${encodeURIComponent(String(row?.path))}`
      expect(await cipherWith(`ssl-mode=VERIFY_CA&${ca}`)).toMatch(/./)
      const url = Object.assign(new URL(empty.url), { hostname: "localhost", search: `ssl-mode=VERIFY_IDENTITY&${ca}` })
      await expect(openDatabase({ url: url.href })).rejects.toMatchObject({
        reason: "DATABASE_UNAVAILABLE",
        cause: { code: expect.stringMatching(/HANDSHAKE|ALTNAME/) },
      })
    })
  })
}
