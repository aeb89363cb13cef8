import { readFileSync } from "node:fs"
import { join } from "node:path"
import { UserService } from "@authwire/proto"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { run, type ServerProcess, startServer, staticKey, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"
import { ways } from "./access/ways.js"
import { auditFolder, linesOf } from "./audited-service.js"

const later = endsAfterEach()
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const [unary] = ways as [(typeof ways)[number]]

describe("the destination of the audit log", () => {
  const write = (server: ServerProcess) =>
    unary.call(server, UserService.method.deleteUser, { id: "nobody" }, bearer(server.apiKey ?? "x"))
  const audited = (server: ServerProcess) => server.log().includes('"event":"audit"')

  test("standard error by default, at every log level; none with off, or with --dev", async () => {
    const database = await createDatabase("sqlite")
    const silent = await startServer({ databaseUrl: database.url, keys: true, args: ["--log-level=silent"] })
    later(silent.stop)
    await write(silent)
    await until(() => audited(silent))
    expect(linesOf(silent.log())).toHaveLength(1)
    const off = await startServer({ databaseUrl: database.url, keys: true, args: ["--audit-log=off"] })
    later(off.stop)
    const dev = await startServer({ databaseUrl: database.url })
    later(dev.stop)
    for (const server of [off, dev]) {
      await write(server)
      await until(() => server.log().includes("DeleteUser"))
      await server.stop()
      expect(audited(server)).toBe(false)
      const key = server.apiKey?.split("_")[1]
      expect(linesOf(server.log())).toContainEqual(
        expect.objectContaining({ ...(key && { key }), tenant: "default", code: "NOT_FOUND" }),
      )
    }
    await silent.stop()
    await database.drop()
  })

  test("a name of a key that turns or hides text is escaped, and is the same for a reader of JSON", async () => {
    const database = await createDatabase("sqlite")
    const name = "x\u2028\u202e\ufeff\u200b"
    const keys = [staticKey(["all"], { name })]
    const server = await startServer({ databaseUrl: database.url, keys, args: ["--log-level=silent"] })
    later(server.stop)
    await write(server)
    await until(() => audited(server))
    const [line = ""] = server.log().match(/^.*"event":"audit".*$/m) ?? []
    expect(line).toMatch(/^[ -~]+$/)
    expect(JSON.parse(line)).toMatchObject({ key_name: name })
    await server.stop()
    await database.drop()
  })

  test("the end of an existing file; if it cannot be opened: one line, exit code 1", async () => {
    const database = await createDatabase("sqlite")
    const file = join(auditFolder(), "log")
    for (const count of [1, 2]) {
      const server = await startServer({ databaseUrl: database.url, keys: true, args: [`--audit-log=${file}`] })
      later(server.stop)
      await write(server)
      await until(() => linesOf(readFileSync(file, "utf8")).length === count)
      await server.stop()
    }
    const env = { AUTH_SECRET: testSecret, AUTHWIRE_DATABASE_URL: database.url, AUTHWIRE_LOG_LEVEL: "silent" }
    const nowhere = join(auditFolder(), "none", "log")
    const { code, stderr } = await run(["serve", "--http-addr=off", "--grpc-addr=127.0.0.1:0"], {
      ...env,
      AUTHWIRE_AUDIT_LOG: nowhere,
    })
    expect({ code, stderr }).toEqual({ code: 1, stderr: `authwire: --audit-log: cannot open ${nowhere} (ENOENT)\n` })
    await database.drop()
  })
})
