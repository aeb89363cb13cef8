import { TokenService } from "@authwire/proto"
import {
  createDatabase,
  describeServer,
  serviceDatabase,
  tcpProxy,
} from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { createKey, revokeKey } from "@authwire/test-support/processes/keys.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"
import { ask, bearer, open, unary } from "./access/asking.js"

// Further requirements are tested in keys.test.ts, workers.test.ts and outage.test.ts, and in keyring.test.ts with a
// clock.

const later = endsAfterEach()

const target = serviceDatabase()

describe("a key that is revoked", () => {
  // Workers require a database server.
  const kinds = target === "sqlite" ? [[[]]] : [[[]], [["--workers=2"]]]
  test.each(kinds)("stops within five seconds on every server (%p)", async (args: string[]) => {
    const database = await createDatabase(target)
    later(database.drop)
    const servers = [1, 2].map(() => startServer({ databaseUrl: database.url, keys: false, args }))
    for (const server of servers) later((await server).stop)
    const key = await createKey(database, "all")
    const all = await Promise.all(servers)
    const streams = all.flatMap(({ grpcUrl, httpUrl }) => [open(grpcUrl, key), open(httpUrl, key)])
    const everywhere = () => Promise.all([...streams.map((one) => one.ask()), ...all.map((server) => ask(server, key))])
    expect(new Set(await everywhere())).toEqual(new Set(["USER_NOT_FOUND"]))
    await revokeKey(database, key)
    const revoked = performance.now()
    await until(async () => (await everywhere()).every((one) => one === "API_KEY_INVALID"))
    expect(performance.now() - revoked).toBeLessThan(5_000)
    for (const stream of streams) stream.close()
  })
})

describeServer("an outage of the database", (engine) => {
  test.each([["cut"], ["hang"]] as const)("(%s) invalidates keys within six seconds", async (how) => {
    const database = await createDatabase(engine)
    later(database.drop)
    const url = new URL(database.url)
    const proxy = await tcpProxy(Number(url.port || 3306), url.hostname)
    later(proxy.close)
    url.port = String(proxy.port)
    const server = await startServer({ databaseUrl: url.href, keys: false })
    later(() => server.stop("SIGKILL"))
    const key = await createKey(database, "all")
    // This method needs no database, so its result depends on the key alone.
    const issue = async () => {
      const request = { salt: "s", payload: { sub: "x" } }
      const { code, reason } = await unary.call(server, TokenService.method.encode, request, bearer(key))
      return reason ?? code
    }
    expect(await issue()).toBe("OK")
    if (how === "cut") await proxy.cut()
    else proxy.hang()
    const cut = performance.now()
    await until(async () => (await issue()) === "DATABASE_UNAVAILABLE")
    expect(performance.now() - cut).toBeLessThan(6_000)
  })
})
