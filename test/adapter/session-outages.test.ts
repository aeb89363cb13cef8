import { Auth, type AuthConfig, skipCSRFCheck } from "@auth/core"
import type { Adapter } from "@auth/core/adapters"
import { AuthwireAdapter, AuthwireError, RemoteJwt, SessionUnavailable, throwOutages } from "@authwire/client"
import { handleLoginOrRegister } from "@authwire/test-support/applications/auth-core.js"
import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const key = staticKey(["all"])
const sessionTimeoutMs = 2_000

describe.each(["database", "jwt"] as const)("reading a session, strategy %s", (strategy) => {
  let database: TestDatabase
  let server: ServerProcess
  let address: string
  let url: string
  /** The cookie of a user who is signed in. */
  let cookie: string

  const start = (args: string[] = []) => startServer({ databaseUrl: database.url, keys: [key], args })
  const config = (apiKey = key.text, timeoutMs = 30_000) =>
    throwOutages(
      {
        adapter: AuthwireAdapter({ url, apiKey }),
        jwt: RemoteJwt({ url, apiKey }),
        session: { strategy },
        providers: [],
        basePath: "/auth",
        secret: "a secret of the application",
        trustHost: true,
        logger: { error() {} },
      },
      { sessionTimeoutMs: timeoutMs },
    )
  const ask = (of = cookie, auth = config()) =>
    Auth(new Request("http://localhost/auth/session", { headers: { cookie: of } }), auth)
  const name = async (response: Response) => (await response.json())?.user?.name

  beforeAll(async () => {
    database = await createDatabase("sqlite")
    address = `--grpc-addr=127.0.0.1:${await freePort()}`
    server = await start([address])
    url = server.grpcUrl
    const [sessionToken, id, expires] = [crypto.randomUUID(), crypto.randomUUID(), new Date(Date.now() + 3_600_000)]
    const { createUser, createSession } = AuthwireAdapter({ url, apiKey: key.text })
    await createUser({ id, name: "Ada", email: "ada@example.com", emailVerified: null })
    await createSession({ sessionToken, userId: id, expires })
    const { encode } = RemoteJwt({ url, apiKey: key.text })
    const token = await encode({ token: { sub: id, name: "Ada" }, salt: sessionCookie, secret: "" })
    cookie = `${sessionCookie}=${strategy === "jwt" ? token : sessionToken}`
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })

  test.each([
    ["there is no cookie", ""],
    ["there is no such session", `${sessionCookie}=${crypto.randomUUID()}`],
    ["the cookie holds anything else", `${sessionCookie}=${"%F0%9F%94%91.".repeat(600)}`],
  ])("nobody is signed in where %s", async (_, of) => {
    const response = await ask(of)
    expect([response.status, await response.json()]).toEqual([200, null])
  })

  test("S-30: an outage of the service is thrown, with its cause; a sign-out removes only the cookie, which is still valid afterwards", async () => {
    await server.stop()
    const error = await ask().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SessionUnavailable)
    expect(error).toMatchObject({ retryAfterSeconds: 2, cause: { name: "AuthwireError", code: "UNAVAILABLE" } })
    const url = "http://localhost/auth/signout"
    const signOut = new Request(url, { method: "POST", headers: { cookie }, body: new URLSearchParams() })
    const response = await Auth(signOut, { ...config(), skipCSRFCheck })
    expect(response.status).toBe(302)
    expect(response.headers.getSetCookie()).toContainEqual(expect.stringMatching(`^${sessionCookie}=; Max-Age=0`))
    server = await start([address])
    await until(() =>
      ask()
        .then(() => true)
        .catch(() => false),
    )
    expect(await name(await ask())).toBe("Ada")
  })

  test("while the service hangs, five reads take about one sessionTimeoutMs", async () => {
    const auth = config(key.text, sessionTimeoutMs)
    expect(await name(await ask(cookie, auth))).toBe("Ada")
    process.kill(server.pid, "SIGSTOP")
    try {
      const started = performance.now()
      for (let time = 1; time <= 5; time++)
        await expect(ask(cookie, auth)).rejects.toMatchObject({
          name: "SessionUnavailable",
          cause: { code: "DEADLINE_EXCEEDED" },
        })
      const took = performance.now() - started
      expect(took).toBeGreaterThanOrEqual(sessionTimeoutMs - 10)
      // Five session timeouts would take 5 s, and five timeouts of the client 25 s.
      expect(took).toBeLessThan(4 * sessionTimeoutMs)
    } finally {
      process.kill(server.pid, "SIGCONT")
    }
    await until(() =>
      ask(cookie, auth)
        .then(() => true)
        .catch(() => false),
    )
    expect(await name(await ask(cookie, auth))).toBe("Ada")
  })
})

describe("a user signed in with a JWT links an account with another address", () => {
  const authwire = useAuthwire("sqlite")
  let token: string
  let fails: "decode" | "getUser" | undefined
  /** While it is set, calls of `decode` wait until it is resolved, and then all fail in the same turn of the event loop. */
  let failsTogether: { readonly moment: Promise<void>; waiting: number } | undefined
  const outage = () => new AuthwireError({ code: "UNAVAILABLE", detail: "gone" })
  const options = (jwt = RemoteJwt({ url: authwire.server.grpcUrl })) => {
    const adapter = AuthwireAdapter({ url: authwire.server.grpcUrl })
    const failing =
      <In, Out>(name: typeof fails, call: (given: In) => Promise<Out>) =>
      async (given: In): Promise<Out> => {
        if (name === "decode" && failsTogether !== undefined) {
          failsTogether.waiting++
          await failsTogether.moment
          throw outage()
        }
        if (fails !== name) return call(given)
        fails = undefined
        throw outage()
      }
    return throwOutages<AuthConfig>({
      adapter: { ...adapter, getUser: failing("getUser", adapter.getUser) },
      jwt: { ...jwt, decode: failing("decode", jwt.decode) },
      session: { strategy: "jwt" },
      providers: [],
      basePath: "/auth",
      secret: "a secret of the application",
      trustHost: true,
      logger: { error() {} },
    })
  }
  const signIn = (email: string, { adapter, jwt }: ReturnType<typeof options>, account = newAccount(), as = token) =>
    handleLoginOrRegister({ email }, account, adapter as Required<Adapter>, {
      token: as,
      jwt: jwt ?? {},
      cookie: sessionCookie,
    })
  const newAccount = () => ({
    ...{ provider: "github", type: "oauth" as const, providerAccountId: crypto.randomUUID() },
    userId: "",
  })
  const newEmail = () => `${crypto.randomUUID()}@example.com`
  const userOf = (email: string) => AuthwireAdapter({ url: authwire.server.grpcUrl }).getUserByEmail(email)

  beforeAll(async () => {
    const url = authwire.server.grpcUrl
    const user = await AuthwireAdapter({ url }).createUser({ id: "ada", email: newEmail(), emailVerified: null })
    token = await RemoteJwt({ url }).encode({ token: { sub: user.id }, salt: sessionCookie, secret: "" })
  })

  test("the account is linked to the same user", async () => {
    expect(await signIn(newEmail(), options())).toMatchObject({ user: { id: "ada" }, isNewUser: false })
  })

  test.each(["decode", "getUser"] as const)("when %s fails, no second user is created", async (method) => {
    const [email, auth] = [newEmail(), options()]
    fails = method
    await expect(signIn(email, auth)).rejects.toMatchObject({ code: "UNAVAILABLE" })
    expect(await userOf(email)).toBeNull()
    // No trace of the failed sign-in is left.
    expect(await signIn(email, auth)).toMatchObject({ user: { id: "ada" }, isNewUser: false })
  })

  test.each(["decode", "getUser"] as const)(
    "when %s fails, nobody is signed in as the user of the account",
    async (method) => {
      const [account, auth] = [newAccount(), options()]
      const { linkAccount, createUser } = AuthwireAdapter({ url: authwire.server.grpcUrl })
      const other = await createUser({ id: crypto.randomUUID(), email: newEmail(), emailVerified: null })
      await linkAccount({ ...account, userId: other.id })
      fails = method
      await expect(signIn(newEmail(), auth, account)).rejects.toMatchObject({ code: "UNAVAILABLE" })
      await expect(signIn(newEmail(), auth, account)).rejects.toMatchObject({ type: "OAuthAccountNotLinked" })
    },
  )

  test("when other requests fail to read a session at the same moment, no second user is created", async () => {
    const [email, auth] = [newEmail(), options()]
    const { promise: moment, resolve: fail } = Promise.withResolvers<void>()
    const failing = { moment, waiting: 0 }
    failsTogether = failing
    const headers = { cookie: `${sessionCookie}=${token}` }
    const readSession = () => Auth(new Request("http://localhost/auth/session", { headers }), auth)
    const requests: Promise<unknown>[] = []
    // The reads fail in the order of these requests.
    for (const request of [readSession, readSession, () => signIn(email, auth), readSession]) {
      requests.push(request())
      await until(() => failing.waiting === requests.length)
    }
    const outcomes = Promise.allSettled(requests)
    failsTogether = undefined
    fail()
    expect((await outcomes).map(({ status }) => status)).toEqual(requests.map(() => "rejected"))
    expect(await userOf(email)).toBeNull()
    expect(await signIn(email, auth)).toMatchObject({ user: { id: "ada" }, isNewUser: false })
  })

  test("an outage during the read of a session does not prevent a later sign-in", async () => {
    const [email, auth] = [newEmail(), options()]
    fails = "decode"
    const request = new Request("http://localhost/auth/session", { headers: { cookie: `${sessionCookie}=${token}` } })
    await expect(Auth(request, auth)).rejects.toMatchObject({ name: "SessionUnavailable" })
    expect(await auth.adapter?.getUserByEmail?.(email)).toBeNull()
  })
})

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("sessionTimeoutMs is not %p", (sessionTimeoutMs) => {
  expect(() => throwOutages({}, { sessionTimeoutMs })).toThrow(
    "the option sessionTimeoutMs must be a number of milliseconds from 1 to 2147483647",
  )
})
