import { createAuthwireClient } from "@authwire/client"
import { EventService, SessionService, UserService } from "@authwire/proto"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { expect, test } from "@jest/globals"
import { otherClock } from "./other-clock.js"

const quarter = 900_000
const day = 86_400_000
const later = endsAfterEach()

test.each([
  ["forward", quarter],
  ["back", -quarter],
])("while the clock of a server is set %s again and again, everything ends and begins in time", async (_, ms) => {
  const expired = staticKey(["all"], { expires: new Date(Date.now() - day).toISOString() })
  const authwire = await startAuthwire(serviceDatabase(), {
    keys: [expired],
    args: ["--cleanup-interval=1s", "--cleanup-keep=0", "--rate-limit-overrides=UserService.GetUserByEmail=5"],
    env: otherClock({ step: ms }),
  })
  later(authwire.close)
  const { database, server, client: other } = authwire
  const { text: apiKey } = await createKey(database, "all", "--expires=1d")
  const client = createAuthwireClient({ url: server.grpcUrl, apiKey, sessionCache: {} })
  authwire.later(async () => client.close())
  const { adapter } = client
  const header = { authorization: `Bearer ${apiKey}` }
  const transport = createGrpcTransport({ baseUrl: server.grpcUrl })
  const [users, sessions] = [createClient(UserService, transport), createClient(SessionService, transport)]

  /** Opens a stream of events, and returns the ids of the users that it has named. */
  async function watch(): Promise<Set<string>> {
    const abort = new AbortController()
    later(async () => abort.abort())
    const named = new Set<string>()
    let isOpen = false
    const follow = async () => {
      const events = createClient(EventService, transport)
      for await (const { event } of events.watch({}, { headers: header, signal: abort.signal })) {
        isOpen = true
        if (event?.userId !== undefined) named.add(event.userId)
      }
    }
    follow().catch(() => {})
    await until(() => isOpen)
    return named
  }
  const count = async (rows: string) => Number((await database.query(`SELECT COUNT(*) AS n FROM ${rows}`))[0]?.n)
  const created = async (id: string) =>
    (await adapter.createUser({ id, email: `${id}@example.com`, emailVerified: null })).id
  const signedIn = async (userId: string, inMs: number) => {
    const sessionToken = crypto.randomUUID()
    await adapter.createSession({ sessionToken, userId, expires: new Date(Date.now() + inMs) })
    return sessionToken
  }

  const early = await watch()
  process.kill(server.pid, "SIGUSR2")
  // Events, to streams that were open and to new ones.
  const firstId = await created("first")
  await until(() => early.has(firstId))
  const late = await watch()
  const userId = await created("u")
  await until(() => early.has(userId) && late.has(userId))

  // Sessions, when they were last seen, and the deletion of those that have expired.
  const [lasting, past] = [await signedIn(userId, day), await signedIn(userId, -day)]
  const read = async (token: string) => (await adapter.getSessionAndUser(token))?.user.id
  expect([await read(lasting), await read(past)]).toEqual([userId, undefined])
  await signedIn(userId, -day)
  await until(async () => (await count("sessions")) === 1)
  await until(async () => {
    const [found] = (await sessions.listSessions({ userId }, { headers: header })).sessions
    const seen = Number(found?.lastSeenTime?.seconds ?? 0) * 1000
    return Math.abs(seen - Date.now()) < 60_000
  })

  // A revocation that waits for the caches of clients.
  const request = { sessionToken: lasting, awaitCaches: true }
  await sessions.deleteSession(request, { headers: header, timeoutMs: 15_000 })
  expect(await read(lasting)).toBeUndefined()

  // A repeated call, API keys, and a rate limit.
  const repeated = { headers: { ...header, "idempotency-key": crypto.randomUUID() } }
  const [first, second] = [await users.createUser({}, repeated), await users.createUser({}, repeated)]
  expect(second.user?.id).toBe(first.user?.id)
  await expect(other.adapter.getUser(userId)).rejects.toMatchObject({ reason: "API_KEY_INVALID" })
  const byEmail = () => users.getUserByEmail({ email: "u@example.com" }, { headers: header })
  const ends = await Promise.allSettled(Array.from({ length: 50 }, byEmail))
  expect(ends.filter(({ status }) => status === "rejected").length).toBeGreaterThan(0)
  await until(() =>
    byEmail().then(
      () => true,
      () => false,
    ),
  )
})
