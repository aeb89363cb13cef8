import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { createDatabase, databaseTargets } from "@authwire/test-support/databases/databases.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { describe, expect, test } from "@jest/globals"
import { openDatabase, parseDatabaseUrl } from "../index.js"

describe("parseDatabaseUrl", () => {
  const server = { kind: "server", socketPath: undefined, ssl: undefined }

  test.each([
    ["sqlite:data/authwire.db", { kind: "sqlite", path: "data/authwire.db" }],
    ["sqlite:/var/lib/a b%20.db", { kind: "sqlite", path: "/var/lib/a b%20.db" }],
    ["sqlite::memory:", { kind: "sqlite", path: ":memory:" }],
    [
      "mysql://user:pass@db.example.com:3307/authwire",
      { ...server, host: "db.example.com", port: 3307, username: "user", password: "pass", database: "authwire" },
    ],
    [
      "mariadb://root@[::1]/a%20b",
      { ...server, host: "::1", port: 3306, username: "root", password: "", database: "a b" },
    ],
    [
      "mysql://a%40b:p%40%3A%2F%23@localhost/x?socket=/run/mysqld/mysqld.sock&ssl-mode=DISABLED",
      {
        ...server,
        host: "localhost",
        port: 3306,
        username: "a@b",
        password: "p@:/#",
        database: "x",
        socketPath: "/run/mysqld/mysqld.sock",
      },
    ],
  ])("%s", (url, location) => {
    expect(parseDatabaseUrl(url)).toEqual(location)
  })

  const postgres = { kind: "postgres", port: 5432, username: undefined, password: "", ssl: undefined }
  const anybody = { rejectUnauthorized: false, checkServerIdentity: expect.any(Function) }
  const ca = fileURLToPath(import.meta.url)
  const read = readFileSync(ca, "utf8")

  test.each([
    ["postgres://localhost/x", { ...postgres, host: "localhost", database: "x" }],
    [
      "postgresql://a%40b:p%40%3A%2F%23@[::1]:5433/a%20b?sslmode=disable",
      { ...postgres, host: "::1", port: 5433, username: "a@b", password: "p@:/#", database: "a b" },
    ],
    ["postgres://u@%2Frun%2Fpostgresql/x", { ...postgres, host: "/run/postgresql", username: "u", database: "x" }],
    ["postgres:///x?host=/run/postgresql", { ...postgres, host: "/run/postgresql", database: "x" }],
    ["postgres://db/x?sslmode=no-verify", { ...postgres, host: "db", database: "x", ssl: anybody }],
    ["postgres://db/x?sslmode=require", { ...postgres, host: "db", database: "x", ssl: anybody }],
    [
      `postgres://db/x?sslmode=require&sslrootcert=${ca}`,
      { ...postgres, host: "db", database: "x", ssl: { ...anybody, rejectUnauthorized: true, ca: read } },
    ],
    [
      "postgres://db/x?sslmode=verify-ca",
      { ...postgres, host: "db", database: "x", ssl: { ...anybody, rejectUnauthorized: true } },
    ],
    [
      `postgres://db/x?sslmode=verify-full&sslrootcert=${ca}&sslcert=${ca}&sslkey=${ca}`,
      { ...postgres, host: "db", database: "x", ssl: { rejectUnauthorized: true, ca: read, cert: read, key: read } },
    ],
  ])("%s", (url, location) => {
    expect(parseDatabaseUrl(url)).toEqual(location)
  })

  test.each([
    ["a scheme that it does not know", "oracle://user:hunter2@localhost/x", /mysql:.*postgres:.*sqlite:/],
    ["what is no URL of PostgreSQL", "postgres://user:hunter2@:bad:/x", /must be postgres:/],
    ["no database of PostgreSQL", "postgres://user:hunter2@localhost", /names no database/],
    [
      "a parameter of another server",
      "postgres://u:hunter2@localhost/x?ssl-mode=REQUIRED",
      /unknown parameter: ssl-mode/,
    ],
    ["an sslmode that may be none", "postgres://u:hunter2@localhost/x?sslmode=prefer", /sslmode must be disable/],
    ["two hosts of PostgreSQL", "postgres://u:hunter2@one,two/x", /must name one host/],
    ["no scheme", "localhost:3306/hunter2", /mysql:.*sqlite:/],
    ["what is no URL", "mysql://user:hunter2@:bad:/x", /mysql:.*sqlite:/],
    ["no database", "mysql://user:hunter2@localhost", /names no database/],
    ["no file", "sqlite:", /names no file/],
    [
      "a parameter that the parser does not know",
      "mysql://u:hunter2@localhost/x?sslmode=require",
      /unknown parameter: sslmode/,
    ],
    ["an ssl-mode that it does not know", "mysql://u:hunter2@localhost/x?ssl-mode=hunter2", /ssl-mode must be/],
    ["an identity that cannot be verified", "mysql://u:hunter2@127.0.0.1/x?ssl-mode=VERIFY_IDENTITY", /name of a host/],
  ])("rejects %s, without quoting it", (_, url, message) => {
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
