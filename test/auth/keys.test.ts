import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { UserService } from "@authwire/proto"
import { frame, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { withEndings } from "@authwire/test-support/endings.js"
import { createKey, revokeKey, type TestKey } from "@authwire/test-support/processes/keys.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { logOf } from "@authwire/test-support/processes/workers.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { ask, bearer, open } from "./access/asking.js"

const { getUser, createUser } = UserService.method

const target = serviceDatabase()

describe("keys", () => {
  let database: TestDatabase
  let servers: [ServerProcess, ServerProcess]
  beforeAll(async () => {
    database = await createDatabase(target)
    servers = [
      await startServer({ databaseUrl: database.url, keys: false }),
      await startServer({ databaseUrl: database.url, keys: false }),
    ]
  })
  afterAll(async () => {
    for (const server of servers) expect(await server.stop()).toBe(0)
    await database.drop()
  })

  // The tests that follow wait at the same time: for the expiry of a key, and for reads of all keys and of a file.
  test.concurrent("a new key works immediately, on every server and on a pipeline, also several at the same time", async () => {
    const made: TestKey[] = []
    for (let count = 0; count < 3; count++) {
      made.push(await createKey(database, "users:read"))
      for (const server of servers) {
        for (const key of made) expect(await ask(server, key)).toBe("USER_NOT_FOUND")
        const stream = open(server.grpcUrl, made[count] as TestKey)
        expect(await stream.ask()).toBe("USER_NOT_FOUND")
        stream.close()
      }
    }
  })

  test.concurrent("a key that is revoked while pipelines are open stops working on every server permanently; other keys continue", async () => {
    const [key, other] = [await createKey(database, "all"), await createKey(database, "all")]
    const streams = servers.flatMap(({ grpcUrl, httpUrl }) => [open(grpcUrl, key), open(httpUrl, key)])
    const others = servers.map(({ grpcUrl }) => open(grpcUrl, other))
    const everywhere = () =>
      Promise.all([...streams.map((stream) => stream.ask()), ...servers.map((server) => ask(server, key))])
    expect(new Set(await everywhere())).toEqual(new Set(["USER_NOT_FOUND"]))
    await revokeKey(database, key)
    let outcomes: string[] = []
    await until(async () => {
      outcomes = await everywhere()
      // Until then it works as before.
      expect(outcomes.filter((one) => !["USER_NOT_FOUND", "API_KEY_INVALID"].includes(one))).toEqual([])
      return outcomes.every((one) => one === "API_KEY_INVALID")
    })
    // It must not become valid again with the next read of all keys (every two seconds), nor by a lookup. So the test
    // waits.
    const end = performance.now() + 3_000
    await until(async () => {
      expect(new Set(await everywhere())).toEqual(new Set(["API_KEY_INVALID"]))
      return performance.now() > end
    })
    expect(await Promise.all(others.map((stream) => stream.ask()))).toEqual(["USER_NOT_FOUND", "USER_NOT_FOUND"])
    for (const stream of [...streams, ...others]) stream.close()
  })

  test.concurrent("a key ends when it expires, also on an open pipeline, and not before", async () => {
    const key = await createKey(database, "users:read", "--expires=10s")
    const latest = Date.now() + 10_000
    const streams = servers.map(({ grpcUrl }) => open(grpcUrl, key))
    const everywhere = () => Promise.all([...streams, { ask: () => ask(servers[0], key) }].map((one) => one.ask()))
    expect(new Set(await everywhere())).toEqual(new Set(["USER_NOT_FOUND"]))
    const [row] = await database.query("SELECT expires FROM api_keys WHERE id = ?", [key.id])
    const expires = row?.expires instanceof Date ? row.expires : new Date(`${String(row?.expires).replace(" ", "T")}Z`)
    expect(expires.getTime()).toBeLessThanOrEqual(latest)
    const check = async () => {
      const asked = Date.now()
      const outcomes = await everywhere()
      const answered = Date.now()
      if (answered < expires.getTime()) expect(new Set(outcomes)).toEqual(new Set(["USER_NOT_FOUND"]))
      if (asked >= expires.getTime()) expect(new Set(outcomes)).toEqual(new Set(["API_KEY_INVALID"]))
      return asked - expires.getTime()
    }
    await until(async () => (await check()) > -1_000)
    // Without pauses around the moment itself.
    while ((await check()) < 0);
    for (const stream of streams) stream.close()
  })

  test.concurrent("the authorization of a call in a pipeline is ignored: that of its stream applies", async () => {
    const [reads, all] = [await createKey(database, "users:read"), await createKey(database, "all")]
    const stream = open(servers[0].grpcUrl, reads)
    for (const header of [{}, bearer(all), bearer({ text: "x" }), { authorization: "" }] as Record<string, string>[]) {
      expect(await stream.ask(createUser, { id: crypto.randomUUID() }, header)).toBe("SCOPE_MISSING")
      expect(await stream.ask(getUser, {}, header)).toBe("USER_NOT_FOUND")
    }
    stream.close()
    const rejected = openBarePipeline(servers[0].grpcUrl, bearer({ text: "x" }))
    rejected.send({ calls: [frame(1, getUser, { id: "nobody" }, { header: bearer(all) })] })
    expect((await rejected.ended).reason).toBe("API_KEY_INVALID")
    expect(await database.query("SELECT id FROM users")).toEqual([])
  })

  test.concurrent(
    "keys of a file work in addition to those of the database, and follow changes of the file; errors of the file are logged",
    withEndings(async (later) => {
      const file = join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, `keys-${crypto.randomUUID()}.json`)
      const [one, other] = [staticKey(["users:read"]), staticKey(["users:read"])]
      await writeFile(file, JSON.stringify([one.entry]))
      const server = await startServer({
        databaseUrl: database.url,
        keys: false,
        args: [`--api-keys-file=${file}`],
      })
      later(server.stop)
      const stream = open(server.grpcUrl, one)
      expect([await ask(server, one), await stream.ask(), await ask(server, other)]).toEqual([
        "USER_NOT_FOUND",
        "USER_NOT_FOUND",
        "API_KEY_INVALID",
      ])
      expect(await ask(server, await createKey(database, "users:read"))).toBe("USER_NOT_FOUND")

      await writeFile(file, JSON.stringify([{ ...one.entry, scopes: ["hunter2"] }]))
      await until(() => logOf(server).some(({ problem }) => String(problem).startsWith("[0].scopes: must be a list")))
      expect(server.output()).not.toContain("hunter2")
      expect([await ask(server, one), await stream.ask()]).toEqual(["USER_NOT_FOUND", "USER_NOT_FOUND"])

      // The same id with another secret is a different key.
      await writeFile(file, JSON.stringify([{ ...one.entry, secretSha256: "0".repeat(64) }, other.entry]))
      await until(async () => (await ask(server, other)) === "USER_NOT_FOUND")
      expect([await ask(server, one), await stream.ask()]).toEqual(["API_KEY_INVALID", "API_KEY_INVALID"])

      // The same secret with other scopes: the change applies to open pipelines too.
      const second = open(server.grpcUrl, other)
      expect(await second.ask()).toBe("USER_NOT_FOUND")
      await writeFile(file, JSON.stringify([{ ...other.entry, scopes: ["users:write"] }]))
      await until(async () => (await second.ask()) === "SCOPE_MISSING")
      expect(await second.ask(UserService.method.deleteUser)).toBe("USER_NOT_FOUND")
      for (const each of [stream, second]) each.close()
      expect(await server.stop()).toBe(0)
    }),
  )
})
