import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { SessionService, TokenService, UserService } from "@authwire/proto"
import type { DescMethodUnary } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { ways } from "./access/ways.js"
import { type BarePipeline, errorOf, frame, openBarePipeline } from "./support/bare-pipeline.js"
import { createDatabase, databaseTargets, describeServers, type TestDatabase, tcpProxy } from "./support/databases.js"
import { endsAfterEach } from "./support/endings.js"
import { createKey, revokeKey, type TestKey } from "./support/keys.js"
import { until } from "./support/pipeline.js"
import { givenKey, run, type ServerProcess, startServer, testSecret } from "./support/server.js"
import { logOf } from "./support/workers.js"

const { getUser, createUser } = UserService.method
const later = endsAfterEach()
const unary = ways[0] as (typeof ways)[number]
const bearer = ({ text }: Pick<TestKey, "text">) => ({ authorization: `Bearer ${text}` })

/** A stream that is open, and the reasons that its calls end with: OK, USER_NOT_FOUND, … */
function open(url: string, key: Pick<TestKey, "text">) {
  const stream: BarePipeline = openBarePipeline(url, bearer(key))
  let id = 0
  return {
    async ask(method: DescMethodUnary = getUser, request = {}, header: Record<string, string> = {}): Promise<string> {
      stream.send({ calls: [frame(++id, method, { id: "nobody", ...request } as never, { header })] })
      const [answer] = await stream.answers(1)
      if (answer?.outcome.case === "message") return "OK"
      return errorOf(answer as NonNullable<typeof answer>).reason ?? "none"
    },
    close: () => stream.cancel(),
  }
}

/** How a call of its own ends. */
async function ask(server: ServerProcess, key: Pick<TestKey, "text">, request: object = { id: "nobody" }) {
  const { code, reason } = await unary.call(server, getUser, request, bearer(key))
  return reason ?? code
}

describe.each(databaseTargets())("keys on %s", (target) => {
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

  test("a new key works at once, on every server and on a pipeline; several at the same time", async () => {
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

  test("a key that is revoked while pipelines are open stops within 5 seconds, on every server; others go on", async () => {
    const [key, other] = [await createKey(database, "all"), await createKey(database, "all")]
    const streams = servers.flatMap(({ grpcUrl, httpUrl }) => [open(grpcUrl, key), open(httpUrl, key)])
    const others = servers.map(({ grpcUrl }) => open(grpcUrl, other))
    const everywhere = () =>
      Promise.all([...streams.map((stream) => stream.ask()), ...servers.map((server) => ask(server, key))])
    expect(new Set(await everywhere())).toEqual(new Set(["USER_NOT_FOUND"]))
    await revokeKey(database, key)
    const revoked = performance.now()
    let outcomes: string[] = []
    await until(async () => {
      outcomes = await everywhere()
      // Until it stops it works as before.
      expect(outcomes.filter((one) => !["USER_NOT_FOUND", "API_KEY_INVALID"].includes(one))).toEqual([])
      return outcomes.every((one) => one === "API_KEY_INVALID")
    })
    expect(performance.now() - revoked).toBeLessThan(5_000)
    // It does not come back with the next list, nor by being looked up.
    const end = performance.now() + 3_000
    await until(async () => {
      expect(new Set(await everywhere())).toEqual(new Set(["API_KEY_INVALID"]))
      return performance.now() > end
    })
    expect(await Promise.all(others.map((stream) => stream.ask()))).toEqual(["USER_NOT_FOUND", "USER_NOT_FOUND"])
    for (const stream of [...streams, ...others]) stream.close()
  })

  test("a key ends when it expires, on an open pipeline too, and not before", async () => {
    const key = await createKey(database, "users:read", "--expires=4s")
    const latest = Date.now() + 4_000
    const streams = servers.map(({ grpcUrl }) => open(grpcUrl, key))
    const everywhere = () => Promise.all([...streams, { ask: () => ask(servers[0], key) }].map((one) => one.ask()))
    expect(new Set(await everywhere())).toEqual(new Set(["USER_NOT_FOUND"]))
    const [row] = await database.query("SELECT expires FROM api_keys WHERE id = ?", [key.id])
    const expires = row?.expires instanceof Date ? row.expires : new Date(`${String(row?.expires).replace(" ", "T")}Z`)
    expect(expires.getTime()).toBeLessThanOrEqual(latest)
    for (;;) {
      const asked = Date.now()
      const outcomes = await everywhere()
      const answered = Date.now()
      if (answered < expires.getTime()) expect(new Set(outcomes)).toEqual(new Set(["USER_NOT_FOUND"]))
      if (asked < expires.getTime()) continue
      expect(new Set(outcomes)).toEqual(new Set(["API_KEY_INVALID"]))
      break
    }
    for (const stream of streams) stream.close()
  })

  test("the authorization of a call in a pipeline does not count: its stream's does", async () => {
    const [reads, all] = [await createKey(database, "users:read"), await createKey(database, "all")]
    const stream = open(servers[0].grpcUrl, reads)
    for (const header of [{}, bearer(all), bearer({ text: "x" }), { authorization: "" }] as Record<string, string>[]) {
      expect(await stream.ask(createUser, { id: crypto.randomUUID() }, header)).toBe("SCOPE_MISSING")
      expect(await stream.ask(getUser, {}, header)).toBe("USER_NOT_FOUND")
    }
    stream.close()
    const refused = openBarePipeline(servers[0].grpcUrl, bearer({ text: "x" }))
    refused.send({ calls: [frame(1, getUser, { id: "nobody" }, { header: bearer(all) })] })
    expect((await refused.ended).reason).toBe("API_KEY_INVALID")
    expect(await database.query("SELECT id FROM users")).toEqual([])
  })

  test("while ids are tried at random, keys that are known work, and a new one as soon as the next list", async () => {
    const [server] = servers
    const known = await createKey(database, "users:read")
    expect(await ask(server, known)).toBe("USER_NOT_FOUND")
    const flood = Array.from({ length: 3_000 }, () => ask(server, givenKey(["all"])))
    const fresh = await createKey(database, "users:read")
    const [one, other] = await Promise.all([ask(server, known), ask(server, fresh)])
    expect([one, other]).toEqual(["USER_NOT_FOUND", "USER_NOT_FOUND"])
    expect([...new Set(await Promise.all(flood))].sort()).toEqual(["API_KEY_INVALID", "OVERLOADED"])
  })

  test("keys of a file work beside those of the database, and change with the file; what is wrong with it is logged", async () => {
    const file = join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, `keys-${crypto.randomUUID()}.json`)
    const [one, other] = [givenKey(["users:read"]), givenKey(["users:read"])]
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

    // The same id with another secret is another key.
    await writeFile(file, JSON.stringify([{ ...one.entry, secretSha256: "0".repeat(64) }, other.entry]))
    await until(async () => (await ask(server, other)) === "USER_NOT_FOUND")
    expect([await ask(server, one), await stream.ask()]).toEqual(["API_KEY_INVALID", "API_KEY_INVALID"])

    // The same secret with other scopes: on open pipelines too.
    const second = open(server.grpcUrl, other)
    expect(await second.ask()).toBe("USER_NOT_FOUND")
    await writeFile(file, JSON.stringify([{ ...other.entry, scopes: ["users:write"] }]))
    await until(async () => (await second.ask()) === "SCOPE_MISSING")
    expect(await second.ask(UserService.method.deleteUser)).toBe("USER_NOT_FOUND")
    for (const each of [stream, second]) each.close()
    expect(await server.stop()).toBe(0)
  })
})

// What the keys of the database are worth when it does not answer: nothing, and nobody is told that a key is wrong.
describeServers("an outage of %s", (engine) => {
  test.each([["cut"], ["hang"]] as const)("(%s) is an outage for every caller, and ends with it", async (how) => {
    const database = await createDatabase(engine)
    later(database.drop)
    const url = new URL(database.url)
    const proxy = await tcpProxy(Number(url.port || 3306), url.hostname)
    later(proxy.close)
    url.port = String(proxy.port)
    const given = givenKey(["all"])
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
    // A method that needs no database: whether it is answered depends on the key alone.
    const encode = { salt: "s", payload: { sub: "x" } }
    const issue = async (by: Pick<TestKey, "text">) => {
      const { code, reason } = await unary.call(server, TokenService.method.encode, encode, bearer(by))
      return reason ?? code
    }
    await revokeKey(database, revoked)
    if (how === "cut") await proxy.cut()
    else proxy.hang()
    const cut = performance.now()
    const seen = new Set<string>()
    await until(async () => {
      const outcomes = await Promise.all([issue(key), issue(revoked), stream.ask(TokenService.method.encode, encode)])
      for (const one of outcomes) seen.add(one)
      return outcomes.every((one) => one === "DATABASE_UNAVAILABLE")
    })
    expect(performance.now() - cut).toBeLessThan(6_000)
    expect([...seen].sort()).toEqual(["DATABASE_UNAVAILABLE", "OK"])
    // Nor is anybody told so who has no key, or one that is not known: it may be new.
    const stranger = givenKey(["all"])
    expect(await issue(stranger)).toBe("DATABASE_UNAVAILABLE")
    expect((await unary.call(server, SessionService.method.getSessionAndUser, {}, bearer(stranger))).code).toBe(
      "Unavailable",
    )
    // A key that does not come from the database is as good as ever.
    expect(await issue(given)).toBe("OK")
    expect(await issue({ text: "x" })).toBe("API_KEY_INVALID")

    await proxy.restore()
    await until(async () => (await issue(key)) === "OK")
    await until(async () => (await stream.ask(TokenService.method.encode, encode)) === "OK")
    expect([await issue(revoked), await issue(stranger)]).toEqual(["API_KEY_INVALID", "API_KEY_INVALID"])
    expect(logOf(server).filter(({ msg }) => /keys cannot be read/.test(String(msg)))).toHaveLength(1)
    stream.close()
    expect(await server.stop()).toBe(0)
  })
})

describe("without a key", () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase("sqlite")
  })
  afterAll(() => database.drop())
  const env = () => ({ AUTH_SECRET: testSecret, AUTHWIRE_DATABASE_URL: database.url })

  test("on loopback it starts, and says in the log how to make one", async () => {
    const server = await startServer({ databaseUrl: database.url, keys: false })
    later(server.stop)
    expect(logOf(server).map(({ msg }) => msg)).toContainEqual(
      expect.stringMatching(/^there is no API key, so no call is let in: .*authwire keys create/),
    )
    expect(await ask(server, { text: "x" })).toBe("API_KEY_INVALID")
    expect(await unary.call(server, getUser, { id: "x" })).toMatchObject({ reason: "API_KEY_MISSING" })
    const key = await createKey(database, "all")
    expect(await ask(server, key)).toBe("USER_NOT_FOUND")
    await server.stop()
    const second = await startServer({ databaseUrl: database.url, keys: false })
    later(second.stop)
    expect(second.log()).not.toContain("there is no API key")
    await second.stop()
    await revokeKey(database, key)
  })

  test("elsewhere it does not start", async () => {
    // An address of nobody, which the service comes to know only when it listens.
    const args = ["serve", "--migrate", "--http-addr=off", "--grpc-addr=192.0.2.1:5", "--log-level=silent"]
    const { code, stderr } = await run(args, env())
    expect(stderr).toMatch(/^authwire: there is no API key, so nobody could be let in at 192\.0\.2\.1: .*keys create/)
    expect(stderr.trim().split("\n")).toHaveLength(1)
    expect(code).toBe(1)
    const given = JSON.stringify([givenKey(["all"]).entry])
    const other = await run(args, { ...env(), AUTHWIRE_API_KEYS: given })
    expect(other.stderr).toBe("authwire: --grpc-addr: this machine has no address 192.0.2.1\n")
  })

  test("--dev lets callers in, but no wrong key", async () => {
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
