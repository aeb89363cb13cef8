import { Auth } from "@auth/core"
import { AuthwireAdapter, type AuthwireAdapterMethods, grpcTransport, throwOutages } from "@authwire/client"
import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { updateCounter } from "@authwire/test-support/databases/update-counter.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import type { Transport } from "@connectrpc/connect"
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals"

// Real Auth.js over a real socket. Calls are counted below the adapter, writes by the database.
const [hour, day] = [3_600, 86_400]

const target = serviceDatabase()

describe("AuthwireAdapter with the option sessions", () => {
  let authwire: Authwire
  let writes: () => Promise<number>
  let grpc: ReturnType<typeof grpcTransport>
  let userId: string
  const calls: string[] = []

  beforeAll(async () => {
    authwire = await startAuthwire(target)
    writes = await updateCounter(authwire.database, "sessions")
    grpc = grpcTransport({ url: authwire.server.grpcUrl })
    const user = { id: crypto.randomUUID(), name: "Ada", email: "ada@example.com", emailVerified: null }
    userId = (await authwire.adapter.createUser(user)).id
  })
  afterAll(async () => {
    grpc.close()
    await authwire.close()
  })

  /** Records the calls that it carries. */
  const counting: Transport = {
    unary(method, ...rest) {
      calls.push(method.name)
      return grpc.unary(method, ...rest)
    },
    stream: (...args) => grpc.stream(...args),
  }
  const adapterWith = (sessions?: { maxAge?: number; updateAge?: number }) =>
    AuthwireAdapter({ url: authwire.server.grpcUrl, transport: counting, sessions })

  /** Creates a session that expires in this many seconds, and returns how to ask Auth.js for it. */
  async function signedIn(seconds: number) {
    const sessionToken = crypto.randomUUID()
    const expires = new Date(Date.now() + seconds * 1000)
    await authwire.adapter.createSession({ sessionToken, userId, expires, device: "phone" } as never)
    return { sessionToken, expires }
  }

  /** Returns the calls and writes of one request of a browser, and its response. */
  async function request(
    sessionToken: string,
    adapter: AuthwireAdapterMethods,
    session: { maxAge?: number; updateAge?: number } = {},
  ) {
    calls.length = 0
    const before = await writes()
    const config = throwOutages({
      adapter,
      session: { strategy: "database" as const, ...session },
      providers: [],
      basePath: "/auth",
      secret: "a secret of the application",
      trustHost: true,
    })
    const cookie = `${sessionCookie}=${sessionToken}`
    const answer = await Auth(new Request("http://localhost/auth/session", { headers: { cookie } }), config)
    return {
      body: (await answer.json()) as { user: { name: string }; expires: string } | null,
      cookie: answer.headers.get("set-cookie") ?? "",
      cost: { calls: [...calls], writes: (await writes()) - before },
    }
  }

  test("without the option, a request for a session that is due takes two calls", async () => {
    const { sessionToken } = await signedIn(hour)
    const { body, cost } = await request(sessionToken, adapterWith())
    expect(body?.user.name).toBe("Ada")
    expect(cost).toEqual({ calls: ["GetSessionAndUser", "UpdateSession"], writes: 1 })
  })

  test.each([
    ["the ages of Auth.js by default", {}],
    ["other ages", { maxAge: 7 * day, updateAge: hour }],
    ["fractions of a second", { maxAge: 7 * day + 0.5, updateAge: 0.25 }],
  ])("one request for a session that is due is one call and one write: %s", async (_, ages) => {
    const { sessionToken } = await signedIn(hour)
    const adapter = adapterWith(ages)
    const asked = Date.now()
    const { body, cookie, cost } = await request(sessionToken, adapter, ages)
    expect(cost).toEqual({ calls: ["AccessSession"], writes: 1 })
    expect(body?.user.name).toBe("Ada")
    const extended = Date.parse(String(body?.expires)) - ((ages as { maxAge?: number }).maxAge ?? 30 * day) * 1000
    expect(extended).toBeGreaterThanOrEqual(asked)
    expect(extended).toBeLessThanOrEqual(Date.now())
    expect(cookie).toContain(sessionToken)
  })

  test("a request for a session that is not due takes one call and no write", async () => {
    const { sessionToken, expires } = await signedIn(30 * day - hour)
    const { body, cost } = await request(sessionToken, adapterWith({}))
    expect(cost).toEqual({ calls: ["AccessSession"], writes: 0 })
    expect(body).toMatchObject({ user: { name: "Ada" }, expires: expires.toISOString() })
  })

  test("if the clock of the application is ahead, no request writes a session that is not due", async () => {
    const ages = { maxAge: 7 * day, updateAge: hour }
    // Due in three seconds, but due for four seconds by the clock of the application.
    const { sessionToken } = await signedIn(7 * day - hour + 3)
    const { now } = Date
    const ahead = jest.spyOn(Date, "now").mockImplementation(() => now() + 7_000)
    try {
      expect((await request(sessionToken, adapterWith(ages), ages)).cost).toEqual({
        calls: ["AccessSession"],
        writes: 0,
      })
    } finally {
      ahead.mockRestore()
    }
  })

  test("with ages other than those of Auth.js, Auth.js extends the session itself", async () => {
    const { sessionToken } = await signedIn(hour)
    const { body, cost } = await request(sessionToken, adapterWith({ maxAge: day, updateAge: hour }), {
      maxAge: 30 * day,
    })
    expect(body?.user.name).toBe("Ada")
    expect(cost).toEqual({ calls: ["AccessSession", "UpdateSession"], writes: 2 })
  })

  test("any other update of a session that was just read is executed", async () => {
    const ages = { maxAge: 7 * day, updateAge: 0 }
    const { getSessionAndUser, updateSession } = adapterWith(ages)
    const { sessionToken } = await signedIn(hour)
    const found = await getSessionAndUser(sessionToken)
    const inSevenDays = () => new Date(Date.now() + 7 * day * 1000)
    calls.length = 0
    expect(await updateSession({ sessionToken, expires: inSevenDays() })).toEqual(found?.session)
    expect(calls).toEqual([])
    const soon = new Date(Date.now() + 60_000)
    expect(await updateSession({ sessionToken, expires: soon })).toEqual({ ...found?.session, expires: soon })
    const named = { sessionToken, expires: inSevenDays(), device: "laptop" }
    expect(await updateSession(named)).toMatchObject(named)
    expect(await updateSession({ sessionToken })).toMatchObject(named)
    const other = await signedIn(hour)
    const expires = inSevenDays()
    expect(await updateSession({ sessionToken: other.sessionToken, expires })).toMatchObject({ expires })
    expect(calls).toEqual(["UpdateSession", "UpdateSession", "UpdateSession", "UpdateSession"])
  })

  test("an update like that of Auth.js is executed if it is outside the request that has read the session", async () => {
    const ages = { maxAge: 7 * day, updateAge: 0 }
    const { getSessionAndUser, updateSession } = adapterWith(ages)
    const { sessionToken } = await signedIn(hour)
    await getSessionAndUser(sessionToken)
    const { now } = Date
    const later = jest.spyOn(Date, "now").mockImplementation(() => now() + 5_001)
    try {
      const expires = new Date(Date.now() + 7 * day * 1000)
      calls.length = 0
      expect(await updateSession({ sessionToken, expires })).toMatchObject({ expires })
      expect(calls).toEqual(["UpdateSession"])
    } finally {
      later.mockRestore()
    }
  })

  describe("an update like that of Auth.js, after the session that was read has changed or ended", () => {
    const ages = { maxAge: 7 * day, updateAge: 0 }
    const extension = (sessionToken: string) => ({ sessionToken, expires: new Date(Date.now() + 7 * day * 1000) })
    const stored = async (sessionToken: string) => (await authwire.adapter.getSessionAndUser(sessionToken))?.session

    type End = (adapter: AuthwireAdapterMethods, id: string) => Promise<unknown>
    test.each<[string, End, "is executed" | "returns null"]>([
      [
        "another update",
        (adapter, sessionToken) => adapter.updateSession({ sessionToken, expires: new Date(Date.now() + 60_000) }),
        "is executed",
      ],
      ["deleteSession", (adapter, sessionToken) => adapter.deleteSession(sessionToken), "returns null"],
      ["deleteUser", (adapter, id) => adapter.deleteUser(id), "returns null"],
      ["updateUser", (adapter, id) => adapter.updateUser({ id, email: `${id}@example.org` }), "returns null"],
      [
        "unlinkAccount",
        (adapter, id) => adapter.unlinkAccount({ provider: "github", providerAccountId: id }),
        "returns null",
      ],
    ])("by %s", async (_, end, outcome) => {
      const signOutOn = ["emailChange", "unlinkAccount"] as const
      const url = authwire.server.grpcUrl
      const adapter = AuthwireAdapter({ url, transport: counting, sessions: ages, signOutOn })
      const id = crypto.randomUUID()
      await adapter.createUser({ id, email: `${id}@example.com`, emailVerified: null })
      await adapter.linkAccount({ userId: id, type: "oauth", provider: "github", providerAccountId: id })
      await adapter.createSession({ sessionToken: id, userId: id, expires: new Date(Date.now() + hour * 1000) })
      await adapter.getSessionAndUser(id)
      await end(adapter, id)
      const update = extension(id)
      const updated = await adapter.updateSession(update)
      if (outcome === "returns null") expect(updated).toBeNull()
      else expect([updated, await stored(id)]).toMatchObject([update, update])
    })

    /** Creates an adapter that holds back deletions and the answers of reads, until the test releases them. */
    function holdingAdapter() {
      const held: (() => void)[] = []
      const hold = () => new Promise<void>((resolve) => held.push(resolve))
      const transport: Transport = {
        async unary(method, ...rest) {
          if (method.name === "DeleteSession") await hold()
          const answer = await grpc.unary(method, ...rest)
          if (method.name === "AccessSession") await hold()
          return answer
        },
        stream: (...args) => grpc.stream(...args),
      }
      return { held, adapter: AuthwireAdapter({ url: authwire.server.grpcUrl, transport, sessions: ages }) }
    }

    test("returns null if the session was read while it was deleted", async () => {
      const { held, adapter } = holdingAdapter()
      const { sessionToken } = await signedIn(hour)
      const slow = adapter.getSessionAndUser(sessionToken)
      await until(() => held.length === 1)
      const deletion = adapter.deleteSession(sessionToken)
      await until(() => held.length === 2)
      const quick = adapter.getSessionAndUser(sessionToken)
      await until(() => held.length === 3)
      const [endSlow, endDeletion, endQuick] = held
      endQuick?.()
      expect(await quick).toMatchObject({ session: { sessionToken } })
      endDeletion?.()
      expect(await deletion).toMatchObject({ sessionToken })
      endSlow?.()
      expect(await slow).toMatchObject({ session: { sessionToken } })
      expect(await adapter.updateSession(extension(sessionToken))).toBeNull()
    })
  })

  test("a caller that changes a returned session does not change later answers", async () => {
    const { getSessionAndUser, updateSession } = adapterWith({ maxAge: 7 * day, updateAge: 0 })
    const { sessionToken } = await signedIn(hour)
    const found = await getSessionAndUser(sessionToken)
    const { expires } = found?.session ?? {}
    const asRead = { sessionToken, userId, device: "phone", expires: new Date(Number(expires)) }
    expires?.setTime(0)
    const update = { sessionToken, expires: new Date(Date.now() + 7 * day * 1000) }
    const extended = await updateSession(update)
    expect(extended).toEqual(asRead)
    extended?.expires.setTime(0)
    expect(await updateSession(update)).toEqual(asRead)
  })
})
