import { createServer } from "node:http"
import { setTimeout as delay } from "node:timers/promises"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { createDatabase, describeServer, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { range } from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, beforeEach, expect, test } from "@jest/globals"
import { Webhook } from "standardwebhooks"

/** One delivery that a receiver has got. Times are in milliseconds since 1970-01-01T00:00:00Z. */
interface Reception {
  user: string
  sequence: number
  /** From the write of its event. */
  latency: number
  at: number
}

/** A receiver that verifies each delivery, and waits before it answers. */
async function startVerifier(answer: (reception: Reception, attempt: number) => { ms: number; status: number }) {
  const receptions: Reception[] = []
  const attempts = new Map<number, number>()
  let secret = ""
  let wrong = 0
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray().catch(() => [])).toString()
    try {
      new Webhook(secret).verify(text, request.headers as Record<string, string>)
    } catch {
      wrong++
      return
    }
    const { timestamp, data } = JSON.parse(text)
    const at = Date.now()
    const reception = { user: data.user_id, sequence: data.sequence, latency: at - Date.parse(timestamp), at }
    const attempt = (attempts.get(data.sequence) ?? 0) + 1
    attempts.set(data.sequence, attempt)
    receptions.push(reception)
    const { ms, status } = answer(reception, attempt)
    if (ms > 0) await delay(ms)
    response.writeHead(status).end()
  })
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}/`,
    receptions,
    set secret(given: string) {
      secret = given
    },
    get wrong() {
      return wrong
    },
    /** The first reception of each event, in order. */
    firsts: () =>
      [...Map.groupBy(receptions, ({ sequence }) => sequence).values()].map(([first]) => first as Reception),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
type Verifier = Awaited<ReturnType<typeof startVerifier>>

const p99 = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * 0.99)] as number

/** The number of events that are written while replicas are killed. 10,000 take four minutes on a machine that does nothing else. */
const eventCount = Number(process.env.AUTHWIRE_TEST_WEBHOOK_EVENTS ?? 2_000)
const eventsPerUser = 20

describeServer("two replicas that send webhooks", (engine) => {
  let database: TestDatabase
  const replicas: ServerProcess[] = []
  const clients: AuthwireClient[] = []
  const verifiers: Verifier[] = []
  const start = async (n: number) => {
    const replica = await startServer({ databaseUrl: database.url })
    replicas[n] = replica
    clients[n]?.close()
    clients[n] = createAuthwireClient({ url: replica.grpcUrl })
  }
  const receiver = async (name: string, answer: Parameters<typeof startVerifier>[0]) => {
    const verifier = await startVerifier(answer)
    verifiers.push(verifier)
    const created = await clients[0]?.webhooks.createWebhook({ name, url: verifier.url })
    verifier.secret = created?.secret as string
    return { verifier, id: created?.webhook?.id as string }
  }
  beforeEach(async () => {
    database = await createDatabase(engine)
    await Promise.all(range(2).map(start))
  })
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close()
    await Promise.all(replicas.splice(0).map((replica) => replica.stop("SIGKILL")))
    for (const verifier of verifiers.splice(0)) verifier.close()
    await database.drop()
  })

  /** Makes a call on any replica that answers, until it succeeds. */
  async function call(n: number, work: (client: AuthwireClient) => Promise<unknown>): Promise<void> {
    for (let tried = n; ; tried++) {
      try {
        await work(clients[tried % 2] as AuthwireClient)
        return
      } catch {
        await delay(100)
      }
    }
  }
  /** Writes `count` events for each user, one after the other, those of all users at the same time. */
  const write = (users: readonly string[], count: number, pauseMs: number) =>
    Promise.all(
      users.map(async (email, n) => {
        let id = ""
        await call(n, async ({ users: store }) => {
          id = (await store.createUser({ email }).catch(() => store.getUserByEmail({ email }))).user?.id as string
        })
        for (const event of range(count - 1)) {
          await delay(pauseMs)
          await call(n + event, ({ users: store }) =>
            store.updateUser({ id, name: `${event}`, updateMask: { paths: ["name"] } }),
          )
        }
      }),
    )
  /** The sequences of the events after one. There are gaps, of writes that were rolled back. */
  const sequencesAfter = async (sequence: number) =>
    (await database.query("SELECT sequence AS n FROM events WHERE sequence > ? ORDER BY sequence", [sequence])).map(
      ({ n }) => Number(n),
    )

  test("events reach each of three receivers, in order for each user, while a replica is killed every 5 s", async () => {
    const good = await receiver("good", () => ({ ms: 0, status: 204 }))
    /** Writes 400 events, and returns how late the good receiver got almost all of them. */
    const measured = async (name: string) => {
      const after = Math.max(0, ...good.verifier.firsts().map(({ sequence }) => sequence))
      const own = () => good.verifier.firsts().filter(({ sequence }) => sequence > after)
      const users = range(40).map((n) => `${name}-${n}@example.com`)
      await write(users, 10, 1_000)
      await until(async () => own().length >= 400 && own().length === (await sequencesAfter(after)).length, 60_000)
      return p99(own().map(({ latency }) => latency))
    }
    const alone = await measured("alone")

    const slow = await receiver("slow", ({ sequence }) => ({ ms: 20 + (sequence % 7) * 15, status: 200 }))
    const failing = await receiver("failing", ({ sequence }, attempt) => ({
      ...{ ms: 0, status: sequence % 2 === 1 && attempt === 1 ? 500 : 200 },
    }))
    const beside = await measured("beside")
    const before = Math.max(...good.verifier.firsts().map(({ sequence }) => sequence))
    let isWriting = true
    const kills: { at: number; n: number }[] = []
    const killing = (async () => {
      for (let n = 0; isWriting; n = 1 - n) {
        kills.push({ at: Date.now(), n })
        await replicas[n]?.stop("SIGKILL")
        await start(n)
        const rest = 5_000 - (Date.now() - (kills.at(-1)?.at as number))
        if (rest > 0) await delay(rest)
      }
    })()
    await write(
      range(eventCount / eventsPerUser).map((n) => `user-${n}@example.com`),
      eventsPerUser,
      2_000,
    )
    isWriting = false
    await killing
    const all = [good, slow, failing]
    const received = ({ verifier }: (typeof all)[0]) => verifier.firsts().filter(({ sequence }) => sequence > before)
    // What was written last may have no sequence yet.
    const [row] = await database.query("SELECT COUNT(*) AS n FROM events")
    await until(async () => (await sequencesAfter(0)).length === Number(row?.n), 60_000)
    const sequences = await sequencesAfter(before)
    await until(() => all.every((one) => received(one).length >= sequences.length), 400_000)
    for (const { verifier } of all) {
      expect(verifier.wrong).toBe(0)
      const own = verifier.firsts().filter(({ sequence }) => sequence > before)
      expect(own.map(({ sequence }) => sequence).toSorted((a, b) => a - b)).toEqual(sequences)
      for (const [, ofUser] of Map.groupBy(own, ({ user }) => user))
        expect(ofUser.map(({ sequence }) => sequence)).toEqual(
          ofUser.map(({ sequence }) => sequence).toSorted((a, b) => a - b),
        )
    }
    expect(sequences.length).toBeGreaterThanOrEqual(eventCount)
    // At most what was being sent at a kill comes twice.
    const twice = (verifier: Verifier) =>
      verifier.receptions.filter(({ sequence }) => sequence > before).length - sequences.length
    const failures = sequences.filter((sequence) => sequence % 2 === 1).length
    for (const { verifier } of [good, slow]) expect(twice(verifier)).toBeLessThanOrEqual(8 * kills.length)
    expect(twice(failing.verifier) - failures).toBeLessThanOrEqual(8 * kills.length)
    // A take-over lasts from a gap without any delivery.
    const goods = good.verifier.firsts().filter(({ sequence }) => sequence > before)
    const gaps = goods.flatMap(({ at }, n) => {
      const previous = goods[n - 1]?.at ?? at
      return at - previous > 2_000 ? [{ from: previous, to: at }] : []
    })
    console.info(
      JSON.stringify({
        ...{ events: sequences.length, kills: kills.length },
        p99: { alone, beside, killed: p99(goods.map(({ latency }) => latency)) },
        takeOversMs: gaps.map(({ from, to }) => to - from),
        twice: all.map(({ verifier }) => twice(verifier)),
        failures,
      }),
    )
    for (const { from, to } of gaps) expect(to - from).toBeLessThan(60_000)
  }, 900_000)

  test("after kill -9 of the one that sends, the other one sends within 30 s, and after SIGTERM at once", async () => {
    const { verifier } = await receiver("good", () => ({ ms: 0, status: 204 }))
    const holder = async () =>
      String((await database.query("SELECT holder FROM leases WHERE name = 'webhooks'"))[0]?.holder)
    const sent = async (email: string, n: number) => {
      const expected = verifier.receptions.length + 1
      await call(n, ({ users }) => users.createUser({ email }))
      await until(() => verifier.receptions.length >= expected, 45_000)
    }
    await sent("first@example.com", 0)
    // The one that runs alone is the one that sends.
    const took: Record<string, number> = {}
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      await replicas[1]?.stop("SIGKILL")
      await sent(`alone-${signal}@example.com`, 0)
      const before = await holder()
      await start(1)
      const stopped = Date.now()
      await replicas[0]?.stop(signal)
      await sent(`taken-over-${signal}@example.com`, 1)
      took[signal] = Date.now() - stopped
      expect(await holder()).not.toBe(before)
      await start(0)
      // The next round has replica 0 as the leader.
      await replicas[1]?.stop("SIGTERM")
      await sent(`back-${signal}@example.com`, 0)
      await start(1)
    }
    console.info(JSON.stringify(took))
    expect(took.SIGKILL).toBeLessThan(30_000)
    expect(took.SIGTERM).toBeLessThan(6_000)
  }, 240_000)
})
