import { Auth } from "@auth/core"
import { AuthwireAdapter, type AuthwireAdapterMethods, grpcTransport, throwOutages } from "@authwire/client"
import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { updateCounter } from "@authwire/test-support/databases/update-counter.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import type { Transport } from "@connectrpc/connect"
import { beforeAll, describe, expect, jest, test } from "@jest/globals"

// Real Auth.js over a real socket. Calls are counted below the adapter, writes by the database.
const [hour, day] = [3_600, 86_400]

const target = serviceDatabase()

describe("AuthwireAdapter with the option sessions", () => {
  const authwire = useAuthwire(target)
  let writes: () => Promise<number>
  let grpc: ReturnType<typeof grpcTransport>
  let userId: string
  const calls: string[] = []

  beforeAll(async () => {
    writes = await updateCounter(authwire.database, "sessions")
    grpc = grpcTransport({ url: authwire.server.grpcUrl })
    authwire.later(async () => grpc.close())
    const user = { id: crypto.randomUUID(), name: "Ada", email: "ada@example.com", emailVerified: null }
    userId = (await authwire.adapter.createUser(user)).id
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
    await authwire.adapter.createSession({ sessionToken, userId, expires })
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
    const config = throwOutages(
      {
        adapter,
        session: { strategy: "database" as const, ...session },
        providers: [],
        basePath: "/auth",
        secret: "a secret of the application",
        trustHost: true,
      },
      { sessionTimeoutMs: 30_000 },
    )
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
    ["fractions of a second", { maxAge: 7 * day + 0.5, updateAge: 60.25 }],
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

  test("with an updateAge of 0, Auth.js extends the session once more", async () => {
    const ages = { maxAge: 7 * day, updateAge: 0 }
    const { sessionToken } = await signedIn(hour)
    const { body, cost } = await request(sessionToken, adapterWith(ages), ages)
    expect(body?.user.name).toBe("Ada")
    expect(cost).toEqual({ calls: ["AccessSession", "UpdateSession"], writes: 2 })
  })

  test("if the clock of the application is ahead, Auth.js extends a session that is not due", async () => {
    const ages = { maxAge: 7 * day, updateAge: hour }
    // Due in an hour, but due for an hour by the clock of the application.
    const { sessionToken } = await signedIn(7 * day)
    const { now } = Date
    const ahead = jest.spyOn(Date, "now").mockImplementation(() => now() + 2 * hour * 1_000)
    try {
      const { cost } = await request(sessionToken, adapterWith(ages), ages)
      expect(cost).toEqual({ calls: ["AccessSession", "UpdateSession"], writes: 1 })
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
})
