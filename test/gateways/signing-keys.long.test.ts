import { createAuthwireClient } from "@authwire/client"
import { createDatabase, serviceServer, testOnServer } from "@authwire/test-support/databases/databases.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { run, type ServerProcess, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { expect } from "@jest/globals"
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from "jose"
import { type Answer, ways } from "./ask.js"
import { cookie, signedIn } from "./service.js"

// A key is published for 20 minutes before it signs. So the clock of the database goes fast here: the test sets it forward by a
// minute whenever each replica has read the keys, which it does after a moment in place of a minute. The load does not pause.

const clock = [
  "CREATE SCHEMA fast",
  "CREATE SEQUENCE fast.minutes",
  `CREATE FUNCTION fast.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$
    SELECT pg_catalog.clock_timestamp() + (SELECT last_value FROM fast.minutes) * interval '1 minute' $$`,
]

const wasRead = "the keys were read"
/** Shortens the pause between two reads of the keys, the only one of a minute that does not keep the process alive. */
const readsOften = `
  import { syncBuiltinESMExports } from "node:module"
  import timers from "node:timers/promises"
  const wait = timers.setTimeout
  timers.setTimeout = (ms, value, options) => {
    if (ms !== 60_000 || options?.ref !== false) return wait(ms, value, options)
    process.stderr.write("${wasRead}\\n")
    return wait(200, value, options)
  }
  syncBuiltinESMExports()`

/** How long a backend keeps the set of keys, in minutes. */
const keptMinutes = 10
const callers = 4

/** A backend that asks for no other set before it has kept this one for its time, whatever it receives. */
class Backend {
  kids: (string | undefined)[] = []
  #keys = createLocalJWKSet({ keys: [] })

  async fetchKeys({ httpUrl }: ServerProcess): Promise<void> {
    const set = (await (await fetch(`${httpUrl}/.well-known/jwks.json`)).json()) as JSONWebKeySet
    this.#keys = createLocalJWKSet(set)
    this.kids = set.keys.map(({ kid }) => kid)
  }

  /** Accepts an assertion at the time at which it was made, because only the keys matter here. */
  async accepts(assertion: string): Promise<boolean> {
    const currentDate = new Date((decodeJwt(assertion).iat as number) * 1000)
    const verified = jwtVerify(assertion, this.#keys, { audience: "orders", currentDate })
    return verified.then(
      () => true,
      () => false,
    )
  }
}

testOnServer(
  "a key is changed by schedule and by hand under load, and no backend that keeps the keys for ten minutes rejects an assertion",
  async (later) => {
    const database = await createDatabase("postgres")
    later(database.drop)
    for (const sql of clock) await database.query(sql)
    const url = `${database.url}?options=${encodeURIComponent("-c search_path=fast,pg_catalog")}`
    const start = async () => {
      const args = ["--identity-issuer=https://authwire.example", "--signing-key-age=1h", "--log-level=warn"]
      const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(readsOften)}` }
      const server = await startServer({ databaseUrl: url, args, env })
      later(server.stop)
      return server
    }
    const replicas = [await start(), await start()] as const
    const client = createAuthwireClient({ url: replicas[0].grpcUrl })
    later(async () => client.close())
    const gateway = (await createKey({ url }, "sessions:introspect")).text
    const { userId } = await signedIn(client)
    const sessionToken = crypto.randomUUID()
    await client.adapter.createSession({ sessionToken, userId, expires: new Date(Date.now() + 86_400_000) })
    const question = {
      headers: { cookie: `${cookie}=${sessionToken}` },
      settings: { identity: "jwt", audience: "orders" },
    }

    const backends = [new Backend(), new Backend(), new Backend()] as const
    for (const one of backends) await one.fetchKeys(replicas[0])
    let minute = 0
    let assertions = 0
    const refused: string[] = []
    const rejected: string[] = []
    /** The keys that signed, each with the minute of its first assertion. */
    const signed = new Map<string, number>()
    let stopped = false

    async function call(caller: number): Promise<void> {
      const way = ways[caller % ways.length]
      for (let asked = caller; !stopped; asked++) {
        const replica = replicas[Math.floor(asked / 2) % 2] as ServerProcess
        const at = minute
        const answer = await way?.ask(replica, gateway, question).catch((error: Error) => error)
        const assertion = (answer as Answer).told?.["x-authwire-identity"]
        if (assertion === undefined) {
          refused.push(`minute ${at}: ${(answer as Answer).status ?? answer}`)
          continue
        }
        assertions++
        const { kid = "" } = decodeProtectedHeader(assertion)
        if (!signed.has(kid)) signed.set(kid, at)
        for (const one of backends) if (!(await one.accepts(assertion))) rejected.push(`minute ${at}`)
      }
    }

    /** Lets minutes pass. In each of them every replica reads the keys, and answers calls. */
    async function pass(minutes: number): Promise<void> {
      const reads = () => replicas.map((one) => one.log().split(wasRead).length)
      for (let passed = 0; passed < minutes; passed++) {
        const [read, asked] = [reads(), assertions]
        await database.query("SELECT nextval('fast.minutes')")
        minute++
        // The first one may have begun before.
        await until(() => reads().every((count, index) => count >= (read[index] as number) + 2))
        await until(() => assertions >= asked + 2 * callers)
        for (const [index, one] of backends.entries()) {
          const replica = replicas[(index + Math.floor(minute / keptMinutes)) % 2] as ServerProcess
          if ((minute + 3 * index) % keptMinutes === 0) await one.fetchKeys(replica)
        }
      }
    }

    const rotate = (...more: string[]) =>
      run(["keys", "rotate-signing", ...more], { AUTHWIRE_DATABASE_URL: url, AUTH_SECRET: testSecret })

    const load = Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
    later(async () => {
      stopped = true
      await load
    })

    // By schedule, after an hour.
    await pass(65)
    expect(signed.size).toBe(2)
    // By hand.
    expect(await rotate()).toMatchObject({ code: 0 })
    await pass(55)
    expect([refused, rejected]).toEqual([[], []])
    expect(signed.size).toBe(3)
    // The last key is published alone: the one before was deleted 20 minutes after it had signed.
    expect(new Set(backends.flatMap(({ kids }) => kids))).toEqual(new Set([...signed.keys()].slice(2)))

    // At once, because one was stolen: backends reject the new key until they read the keys again, and then the old one.
    expect(await rotate("--now")).toMatchObject({ code: 0 })
    const stolen = [...signed.keys()][2]
    await pass(1)
    expect(signed.size).toBe(4)
    await pass(keptMinutes)
    expect(backends.flatMap(({ kids }) => kids)).not.toContain(stolen)
    const before = rejected.length
    await pass(keptMinutes)
    expect(rejected.slice(before)).toEqual([])
    expect(refused).toEqual([])
  },
  serviceServer(["postgres"]),
)
