import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import type { ServerProcess } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { beforeAll, describe, expect, test } from "@jest/globals"

const hour = 3_600_000

/** Reads until the session is answered from the cache. Such a response arrives before the socket is read. */
async function isKept({ adapter }: AuthwireClient, sessionToken: string): Promise<void> {
  await until(async () => {
    let isThere = false
    const asked = adapter.getSessionAndUser(sessionToken).then(() => {
      isThere = true
    })
    for (let turn = 0; turn < 5; turn++) await undefined
    const fromMemory = isThere
    await asked
    return fromMemory
  })
}

const target = serviceDatabase()

describe("AuthwireAdapter with the option sessionCache", () => {
  const authwire = useAuthwire(target, { args: ["--metrics-addr=127.0.0.1:0"] })
  let other: ServerProcess | undefined
  let near: AuthwireClient
  /** A client of another replica, if the database supports two processes. */
  let far: AuthwireClient
  let userId: string

  beforeAll(async () => {
    if (target !== "sqlite") other = await authwire.another()
    near = createAuthwireClient({ url: authwire.server.grpcUrl, sessionCache: {} })
    far = createAuthwireClient({ url: other?.grpcUrl ?? authwire.server.grpcUrl, sessionCache: { size: 500 } })
    for (const client of [near, far]) authwire.later(async () => client.close())
    const user = { id: crypto.randomUUID(), name: "Ada", email: "ada@example.com", emailVerified: null }
    userId = (await authwire.adapter.createUser({ ...user, tags: { a: [1, null] } } as never)).id
  })

  async function signedIn(expiresInMs = hour) {
    const sessionToken = crypto.randomUUID()
    const expires = new Date(Date.now() + expiresInMs)
    await authwire.adapter.createSession({ sessionToken, userId, expires, device: { name: "phone" } } as never)
    const { sessions } = await authwire.client.sessions.listSessions({ userId })
    return { sessionToken, id: sessions[0]?.id as string }
  }

  /** Returns how many reads of sessions the replica has answered. */
  async function reads(): Promise<number> {
    const lines = (await (await fetch(authwire.server.metricsUrl)).text()).split("\n")
    const ofReads = lines.filter((line) => /^grpc_server_handled_total\{.*"GetSessionAndUser"/.test(line))
    return ofReads.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0)
  }

  test("answers from the cache what the service answers, as a new object each time", async () => {
    const { sessionToken } = await signedIn()
    // Its lease outlives a pause of either process.
    const patient = createAuthwireClient({
      url: authwire.server.grpcUrl,
      sessionCache: { size: 11, maxStaleMs: 10_000 },
    })
    authwire.later(async () => patient.close())
    await isKept(patient, sessionToken)
    const before = await reads()
    const answers = await Promise.all(Array.from({ length: 20 }, () => patient.adapter.getSessionAndUser(sessionToken)))
    expect(await reads()).toBe(before)
    const [first] = answers
    ;(first as unknown as { session: { device: { name: string } } }).session.device.name = "changed"
    first?.session.expires.setTime(0)
    const asked = await authwire.adapter.getSessionAndUser(sessionToken)
    for (const answer of [...answers.slice(1), await patient.adapter.getSessionAndUser(sessionToken)])
      expect(answer).toEqual(asked)
  })

  test("sees its own writes immediately", async () => {
    const { sessionToken, id } = await signedIn()
    await isKept(near, sessionToken)
    await near.adapter.updateUser({ id: userId, name: "Grace" })
    expect((await near.adapter.getSessionAndUser(sessionToken))?.user.name).toBe("Grace")
    await isKept(near, sessionToken)
    const expires = new Date(Date.now() + 2 * hour)
    await near.adapter.updateSession({ sessionToken, expires })
    expect((await near.adapter.getSessionAndUser(sessionToken))?.session.expires).toEqual(expires)
    await isKept(near, sessionToken)
    await near.sessions.revokeSession({ id })
    expect(await near.adapter.getSessionAndUser(sessionToken)).toBeNull()
    const next = await signedIn()
    await isKept(near, next.sessionToken)
    await near.adapter.deleteSession(next.sessionToken)
    expect(await near.adapter.getSessionAndUser(next.sessionToken)).toBeNull()
  })

  test("changes of other clients are pushed: through one replica, to the clients of both", async () => {
    const { sessionToken } = await signedIn()
    for (const client of [near, far]) await isKept(client, sessionToken)
    await authwire.adapter.updateUser({ id: userId, name: "Barbara" })
    for (const { adapter } of [near, far])
      await until(async () => (await adapter.getSessionAndUser(sessionToken))?.user.name === "Barbara")
    await authwire.adapter.deleteSession(sessionToken)
    for (const { adapter } of [near, far])
      await until(async () => (await adapter.getSessionAndUser(sessionToken)) === null)
  })

  test.each<[string, (session: { sessionToken: string; id: string }) => Promise<unknown>]>([
    [
      "deleteSession",
      ({ sessionToken }) => authwire.client.sessions.deleteSession({ sessionToken, awaitCaches: true }),
    ],
    ["revokeSession", ({ id }) => authwire.client.sessions.revokeSession({ id, awaitCaches: true })],
    ["revokeUserSessions", () => authwire.client.sessions.revokeUserSessions({ userId, awaitCaches: true })],
    [
      "disableUser",
      async () => {
        const { disableUser, enableUser } = authwire.client.users
        await disableUser({ id: userId, awaitCaches: true })
        await enableUser({ id: userId })
      },
    ],
    ["revokeSessions", () => authwire.client.sessions.revokeSessions({ userIds: [userId], awaitCaches: true })],
  ])("await_caches, %s: after the answer no client lets anybody in", async (_, revoke) => {
    for (let round = 0; round < 5; round++) {
      const session = await signedIn()
      await isKept(near, session.sessionToken)
      await far.adapter.getSessionAndUser(session.sessionToken)
      let acknowledged = false
      const late: unknown[] = []
      const reading = [near, far].map(async ({ adapter }) => {
        // At least one read that begins after the response.
        for (let after = 0; after < 20; ) {
          const begunAfter = acknowledged
          const answer = await adapter.getSessionAndUser(session.sessionToken)
          if (begunAfter && answer !== null) late.push(answer)
          if (begunAfter) after++
          else await new Promise(setImmediate)
        }
      })
      await revoke(session)
      acknowledged = true
      await Promise.all(reading)
      expect(late).toEqual([])
    }
  })

  test("with the option sessions a session that is due is extended, and one that is not due comes from the cache", async () => {
    const ages = { maxAge: 3_600, updateAge: 600 }
    const client = createAuthwireClient({ url: authwire.server.grpcUrl, sessionCache: { size: 7 }, sessions: ages })
    const { sessionToken } = await signedIn(1_800_000)
    const extended = await client.adapter.getSessionAndUser(sessionToken)
    expect(extended?.session.expires.getTime()).toBeGreaterThan(Date.now() + 3_500_000)
    const called = async () => (await authwire.rows("SELECT COUNT(*) AS n FROM events"))[0]?.n
    const before = await called()
    for (let n = 0; n < 50; n++)
      expect(await client.adapter.getSessionAndUser(sessionToken)).toMatchObject({ session: extended?.session })
    expect(await called()).toBe(before)
    client.close()
  })

  test("a closed client fails its calls, even for sessions cached by another client with the same options", async () => {
    const options = { url: authwire.server.grpcUrl, sessionCache: { size: 9 } }
    const [one, another] = [createAuthwireClient(options), createAuthwireClient(options)]
    const { sessionToken } = await signedIn()
    await isKept(one, sessionToken)
    one.close()
    await expect(one.adapter.getSessionAndUser(sessionToken)).rejects.toMatchObject({ code: "FAILED_PRECONDITION" })
    expect(await another.adapter.getSessionAndUser(sessionToken)).toMatchObject({ session: { sessionToken } })
    another.close()
  })
})
