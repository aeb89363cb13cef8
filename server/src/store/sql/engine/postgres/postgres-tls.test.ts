import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  createDatabaseOn,
  describeServers,
  ownServers,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { startTlsServer, type TlsServer } from "@authwire/test-support/databases/tls-server.js"
import { type Certificate, certificate } from "@authwire/test-support/processes/certificate.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { openSource } from "../../../../import/peer/open.js"
import { openDatabase } from "../../index.js"

describeServers(
  "sslmode with %s",
  () => {
    let server: TlsServer
    let database: TestDatabase
    const folder = mkdtempSync(join(tmpdir(), "authwire-tls-"))
    const authority = certificate("authority")
    const ca = (one: Certificate) => {
      const path = join(folder, `${one.name}.pem`)
      writeFileSync(path, one.cert)
      return `sslrootcert=${encodeURIComponent(path)}`
    }
    /** Returns whether a connection with these parameters is encrypted. */
    const isEncrypted = async (parameters: string, host = "127.0.0.1") => {
      const url = Object.assign(new URL(database.url), { hostname: host, search: parameters })
      const opened = await openDatabase({ url: url.href })
      const sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
      try {
        return (await opened.reads({}).read(plainSql(sql), []))[0]?.[0]
      } finally {
        await opened.close()
      }
    }
    const rejectedBy = (code: string) => ({ reason: "DATABASE_UNAVAILABLE", cause: { code } })

    beforeAll(async () => {
      server = await startTlsServer("postgres", certificate("localhost", { issuer: authority }))
      database = await createDatabaseOn(server)
    })
    afterAll(async () => {
      await server?.remove()
      rmSync(folder, { recursive: true, force: true })
    })

    test("disable, the default, does not encrypt; no-verify and require do", async () => {
      expect(await isEncrypted("")).toBe(false)
      expect(await isEncrypted("sslmode=disable")).toBe(false)
      expect(await isEncrypted("sslmode=no-verify")).toBe(true)
      expect(await isEncrypted("sslmode=require")).toBe(true)
    })

    test("verify-ca, and require with a root certificate, reject a certificate that this authority has not signed", async () => {
      const stranger = ca(certificate("stranger"))
      const code = "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
      await expect(isEncrypted("sslmode=verify-ca")).rejects.toMatchObject(rejectedBy(code))
      for (const mode of ["require", "verify-ca", "verify-full"]) {
        const opening = isEncrypted(`sslmode=${mode}&${stranger}`, "localhost")
        await expect(opening).rejects.toMatchObject(rejectedBy(code))
        expect(await isEncrypted(`sslmode=${mode}&${ca(authority)}`, "localhost")).toBe(true)
      }
    })

    test("prefer is encrypted if the server offers it; a root certificate without a mode is not ignored", async () => {
      expect(await isEncrypted("sslmode=prefer")).toBe(true)
      expect(await isEncrypted(ca(authority), "localhost")).toBe(true)
      await expect(isEncrypted(ca(certificate("stranger")), "localhost")).rejects.toMatchObject(
        rejectedBy("UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
      )
      await database.query("ALTER SYSTEM SET ssl = 'off'")
      await database.query("SELECT pg_reload_conf()")
      await until(() =>
        isEncrypted("sslmode=require").then(
          () => false,
          () => true,
        ),
      )
      expect(await isEncrypted("sslmode=prefer")).toBe(false)
      await database.query("ALTER SYSTEM SET ssl = 'on'")
      await database.query("SELECT pg_reload_conf()")
      await until(() => isEncrypted("sslmode=require").catch(() => false) as Promise<boolean>)
    })

    test("a source of an import is encrypted and verified by the same parameters", async () => {
      const isSourceEncrypted = async (parameters: string) => {
        const url = Object.assign(new URL(database.url), { hostname: "localhost", search: parameters })
        const source = await openSource(url.href)
        const sql =
          "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'authwire import'"
        try {
          return (await database.query(sql))[0]?.ssl
        } finally {
          await source.close()
          await until(async () => (await database.query(sql)).length === 0)
        }
      }
      expect(await isSourceEncrypted("")).toBe(false)
      for (const parameters of ["sslmode=prefer", "sslmode=require", "ssl=no-verify", ca(authority)]) {
        expect(await isSourceEncrypted(parameters)).toBe(true)
      }
      for (const parameters of [ca(certificate("stranger")), "ssl=true", "sslmode=verify-full"]) {
        await expect(isSourceEncrypted(parameters)).rejects.toThrow()
      }
    })

    test("verify-full also requires the host's name; verify-ca does not", async () => {
      const parameters = ca(authority)
      expect(await isEncrypted(`sslmode=verify-ca&${parameters}`, "127.0.0.1")).toBe(true)
      const opening = isEncrypted(`sslmode=verify-full&${parameters}`, "127.0.0.1")
      await expect(opening).rejects.toMatchObject(rejectedBy("ERR_TLS_CERT_ALTNAME_INVALID"))
    })
  },
  ownServers().filter((engine) => engine === "postgres"),
)
