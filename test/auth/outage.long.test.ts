import { SessionService, TokenService } from "@authwire/proto"
import { createDatabase, tcpProxy, testOnServer } from "@authwire/test-support/databases/databases.js"
import { createKey, revokeKey, type TestKey } from "@authwire/test-support/processes/keys.js"
import { logOf } from "@authwire/test-support/processes/log.js"
import { startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { describe, expect } from "@jest/globals"
import { ask, bearer, open, unary } from "./access/asking.js"
import { openWatch } from "./access/streams.js"

// While the database does not respond, its keys are not accepted, but no caller is told that its key is wrong.
describe.each(["cut", "hang"] as const)("an outage (%s)", (how) => {
  testOnServer("S-17: of the database fails the calls of every caller until it ends", async (later, engine) => {
    const database = await createDatabase(engine)
    later(database.drop)
    const url = new URL(database.url)
    const proxy = await tcpProxy(Number(url.port || 3306), url.hostname)
    later(proxy.close)
    url.port = String(proxy.port)
    const given = staticKey(["all"])
    const server = await startServer({
      databaseUrl: url.href,
      keys: false,
      env: { AUTHWIRE_API_KEYS: JSON.stringify([given.entry]) },
    })
    later(() => server.stop("SIGKILL"))
    const [key, revoked] = [await createKey(database, "all"), await createKey(database, "all")]
    const stream = open(server.grpcUrl, key)
    expect([await ask(server, key), await ask(server, revoked), await stream.ask()]).toEqual(
      Array(3).fill("USER_NOT_FOUND"),
    )
    // This method needs no database, so its result depends on the key alone.
    const look = async (by: Pick<TestKey, "text">) => {
      const { code, reason } = await unary.call(server, TokenService.method.getToken, {}, bearer(by))
      return reason ?? code
    }
    const transport = createGrpcTransport({ baseUrl: server.grpcUrl })
    const [watch, watchOfGiven] = [await openWatch(transport, key), await openWatch(transport, given)]
    await revokeKey(database, revoked)
    if (how === "cut") await proxy.cut()
    else proxy.hang()
    const seen = new Set<string>()
    await until(async () => {
      const outcomes = await Promise.all([look(key), look(revoked), stream.ask(TokenService.method.getToken, {})])
      for (const one of outcomes) seen.add(one)
      return outcomes.every((one) => one === "DATABASE_UNAVAILABLE")
    })
    expect([...seen].sort()).toEqual(["DATABASE_UNAVAILABLE", "OK"])
    // The same holds for a call without a key or with an unknown key, which may be new.
    const stranger = staticKey(["all"])
    expect(await look(stranger)).toBe("DATABASE_UNAVAILABLE")
    expect((await unary.call(server, SessionService.method.getSessionAndUser, {}, bearer(stranger))).code).toBe(
      "Unavailable",
    )
    // Open streams end, because the service cannot check whether they may continue.
    await until(() => watch.reason !== undefined)
    expect(watch.reason).toBe("DATABASE_UNAVAILABLE")
    // A key that does not come from the database stays valid.
    expect(watchOfGiven.reason).toBeUndefined()
    expect(await look(given)).toBe("OK")
    expect(await look({ text: "x" })).toBe("API_KEY_INVALID")

    await proxy.restore()
    await until(async () => (await look(key)) === "OK")
    await until(async () => (await stream.ask(TokenService.method.getToken, {})) === "OK")
    // These are looked up one by one, perhaps over a connection that was cut and not used since.
    for (const invalid of [revoked, stranger]) {
      const outcomes = new Set<unknown>()
      await until(async () => {
        outcomes.add(await look(invalid))
        return outcomes.has("API_KEY_INVALID")
      })
      expect(outcomes).not.toContain("OK")
    }
    expect(logOf(server).filter(({ msg }) => /API keys .* cannot be read/.test(String(msg)))).toHaveLength(1)
    stream.close()
    await watchOfGiven.close()
    expect(await server.stop()).toBe(0)
  })
})
