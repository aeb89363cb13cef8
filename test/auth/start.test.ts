import { UserService } from "@authwire/proto"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { command, createKey, revokeKey } from "@authwire/test-support/processes/keys.js"
import { logOf } from "@authwire/test-support/processes/log.js"
import { run, startServer, staticKey, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { ask, bearer, unary } from "./access/asking.js"

const { getUser } = UserService.method
const later = endsAfterEach()

describe("without a key", () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase("sqlite")
  })
  afterAll(() => database.drop())
  const env = () => ({ AUTH_SECRET: testSecret, AUTHWIRE_DATABASE_URL: database.url })

  test("on loopback it starts, and logs how to create a key", async () => {
    await command(database, "migrate", "up")
    // An expired key counts as none.
    const { id } = await createKey(database, "all", "--certificate-name=DNS:app.internal")
    await database.query("UPDATE api_keys SET expires = created WHERE id = ?", [id])
    const server = await startServer({ databaseUrl: database.url, keys: false })
    later(server.stop)
    const advice = /^there is no API key, so every call is rejected: .*authwire keys create/
    // The log is written in the background.
    await until(() => logOf(server).some(({ msg }) => advice.test(String(msg))))
    expect(await ask(server, { text: "x" })).toBe("API_KEY_INVALID")
    expect(await unary.call(server, getUser, { id: "x" })).toMatchObject({ reason: "API_KEY_MISSING" })
    const key = await createKey(database, "all")
    expect(await ask(server, key)).toBe("USER_NOT_FOUND")
    await server.stop()
    const second = await startServer({ databaseUrl: database.url, keys: false })
    later(second.stop)
    await second.stop()
    expect(second.log()).not.toContain("there is no API key")
    await revokeKey(database, key)
  })

  test("a static key of a tenant that does not exist: the log says how to create it", async () => {
    const { entry } = staticKey(["all"], { tenant: "shop" })
    const env = { AUTHWIRE_API_KEYS: JSON.stringify([entry]) }
    const server = await startServer({ databaseUrl: database.url, keys: false, env })
    later(server.stop)
    await until(() => server.log().includes("does not exist: authwire tenants create shop"))
  })

  test("on another address it does not start", async () => {
    // An address of no host. The service notices that only when it listens.
    const args = [
      "serve",
      "--migrate",
      "--http-addr=off",
      "--grpc-addr=192.0.2.1:5",
      "--insecure-behind-proxy",
      "--log-level=silent",
    ]
    const { code, stderr } = await run(args, env())
    expect(stderr).toMatch(
      /^authwire: there is no API key, so every call would be rejected at 192\.0\.2\.1: .*keys create/,
    )
    expect(stderr.trim().split("\n")).toHaveLength(1)
    expect(code).toBe(1)
    const application = await run(args, { ...env(), AUTHWIRE_API_KEY: staticKey(["all"]).text })
    expect(application.stderr).toMatch(
      / \(AUTHWIRE_API_KEY is set, but that is for an application; .*AUTHWIRE_API_KEYS\)$/m,
    )
    const given = JSON.stringify([staticKey(["all"]).entry])
    const other = await run(args, { ...env(), AUTHWIRE_API_KEYS: given })
    expect(other.stderr).toBe("authwire: --grpc-addr: this machine has no address 192.0.2.1\n")
  })

  test("--dev accepts calls without a key, but no wrong key", async () => {
    const server = await startServer({ databaseUrl: database.url })
    later(server.stop)
    const key = await createKey(database, "users:write")
    const asks: [Record<string, string>, string][] = [
      [{}, "USER_NOT_FOUND"],
      [{ authorization: "Bearer x" }, "USER_NOT_FOUND"],
      [{ authorization: "Basic x" }, "USER_NOT_FOUND"],
      [bearer(key), "SCOPE_MISSING"],
      [bearer({ text: `${key.text.slice(0, -1)}` }), "API_KEY_INVALID"],
      [bearer({ text: "awk_x" }), "API_KEY_INVALID"],
    ]
    for (const [header, reason] of asks) {
      expect([header, (await unary.call(server, getUser, { id: "nobody" }, header)).reason]).toEqual([header, reason])
    }
    await server.stop()
  })
})
