import {
  AuthwireAdapter,
  createAuthwireClient,
  nextAuth4Options,
  RemoteJwt,
  SessionUnavailable,
} from "@authwire/client"
import { requestContext } from "@authwire/client/request-context"
import { SessionStrategy } from "@authwire/proto"
import { authApp } from "@authwire/test-support/applications/auth-app.js"
import { codeBelow } from "@authwire/test-support/applications/pages.js"
import { tcpProxy } from "@authwire/test-support/connections/tcp-proxy.js"
import { startAuthwire, useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { beforeAll, describe, expect, jest, test } from "@jest/globals"
import { type Application4, application4, hasNextAuth4, loadJwt4, type Options4 } from "./next-auth.js"

const cookie = "next-auth.session-token"
const strategies = ["database", "jwt"] as const

// The real next-auth 4 and the real Auth.js, with an Authwire process.
;(hasNextAuth4() ? describe : describe.skip)("next-auth 4 with AuthwireAdapter", () => {
  const authwire = useAuthwire("sqlite")
  let jwt4: ReturnType<typeof RemoteJwt>
  beforeAll(async () => {
    jwt4 = RemoteJwt({ url: authwire.server.grpcUrl, nextAuth4: true })
  })

  const address = () => `${crypto.randomUUID()}@example.com`
  /** An application of next-auth 4. It has its own secret, because Authwire has that of the sessions. */
  const older = (options: Partial<Options4> = {}, cookies?: Map<string, string>): Application4 =>
    application4({ adapter: authwire.adapter, secret: "of the application", jwt: jwt4, ...options }, cookies)
  const errorOf = ({ location = "" }: { location: string | undefined }) =>
    new URL(location, "http://localhost").searchParams.get("error")
  const introspect = (cookies: Map<string, string>, more: object = { nextAuth4: true }) => {
    const value = [...cookies].map((pair) => pair.join("=")).join("; ")
    return authwire.client.introspection.introspect({ headers: [{ name: "cookie", value }], ...more })
  }

  describe.each(strategies)("and sessions of the strategy %s", (strategy) => {
    test("a user signs up, is known again, and signs out", async () => {
      const email = address()
      const app = older({ session: { strategy } })
      expect(errorOf(await app.signIn(email))).toBeNull()
      expect(await app.session()).toMatchObject({ user: { email } })
      const [user, ...others] = await authwire.rows("SELECT id, email_verified FROM users WHERE email = ?", [email])
      expect(others).toEqual([])
      expect(user?.email_verified).not.toBeNull()
      expect(await introspect(app.cookies)).toMatchObject({
        active: true,
        sub: user?.id,
        strategy: strategy === "jwt" ? SessionStrategy.JWT : SessionStrategy.DATABASE,
      })
      const ofUser = () => authwire.rows("SELECT id FROM sessions WHERE user_id = ?", [user?.id])
      expect(await ofUser()).toHaveLength(strategy === "jwt" ? 0 : 1)
      await app.signOut()
      expect(await app.session()).toEqual({})
      expect(await ofUser()).toEqual([])
      const again = older({ session: { strategy } })
      await again.signIn(email)
      expect(await introspect(again.cookies)).toMatchObject({ sub: user?.id })
    })
  })

  test("the configuration of docs/next-auth-4.md signs users in", async () => {
    process.env.AUTHWIRE_URL = authwire.server.grpcUrl
    const app = older(documented())
    delete process.env.AUTHWIRE_URL
    const email = address()
    await app.signIn(email)
    expect(await app.session()).toMatchObject({ user: { email } })
  })

  test("a session is extended when it is due", async () => {
    const session = { strategy: "database", maxAge: 3600, updateAge: 0 } as const
    const app = older({ session })
    await app.signIn(address())
    const token = app.cookies.get(cookie) ?? ""
    const expires = new Date(Date.now() + 60_000)
    await authwire.adapter.updateSession({ sessionToken: token, expires })
    await app.session()
    const read = await authwire.adapter.getSessionAndUser(token)
    expect(read?.session.expires.getTime()).toBeGreaterThan(expires.getTime() + 3_000_000)
  })

  describe.each(strategies)(
    "an application of Auth.js with the settings of docs/next-auth-4.md, strategy %s",
    (strategy) => {
      const newer = () =>
        authApp("http://localhost", {
          adapter: authwire.adapter,
          secret: "of the newer application",
          session: { strategy },
          jwt: jwt4,
          cookies: { sessionToken: { name: cookie } },
        })

      test("has the sessions of next-auth 4, and next-auth 4 has its", async () => {
        const [before, after] = [older({ session: { strategy } }), newer()]
        const email = address()
        await before.signIn(email)
        const cookies = after.cookies as Map<string, string>
        cookies.set(cookie, before.cookies.get(cookie) ?? "")
        expect(await after.session()).toMatchObject({ user: { email } })
        // Auth.js has issued the JWT anew.
        const back = older({ session: { strategy } }, new Map([[cookie, after.cookies.get(cookie) ?? ""]]))
        expect(await back.session()).toMatchObject({ user: { email } })

        const other = newer()
        await other.signIn(address())
        const beside = older({ session: { strategy } }, new Map([[cookie, other.cookies.get(cookie) ?? ""]]))
        expect(await beside.session()).toMatchObject({ user: { email: (await other.session())?.user?.email } })
        await beside.signOut()
        if (strategy === "database") expect(await other.session()).toBeNull()
      })
    },
  )

  test("afterwards Auth.js issues its own tokens and still reads those of next-auth 4", async () => {
    const app = older({ session: { strategy: "jwt" } })
    const email = address()
    await app.signIn(email)
    const { encode } = RemoteJwt({ url: authwire.server.grpcUrl })
    const after = authApp("http://localhost", {
      adapter: authwire.adapter,
      secret: "of the newer application",
      session: { strategy: "jwt" },
      jwt: { encode, decode: jwt4.decode },
      cookies: { sessionToken: { name: cookie } },
    })
    const cookies = after.cookies as Map<string, string>
    cookies.set(cookie, app.cookies.get(cookie) ?? "")
    for (let visit = 0; visit < 2; visit++) expect(await after.session()).toMatchObject({ user: { email } })
    expect(await introspect(cookies, { cookieName: cookie })).toMatchObject({ active: true })
    expect(await introspect(app.cookies, { cookieName: cookie })).toMatchObject({ active: false })
  })

  test("the JWTs of next-auth itself are read if its secret is that of the tenant", async () => {
    const app = older({ secret: testSecret, session: { strategy: "jwt" }, jwt: {} })
    const email = address()
    await app.signIn(email)
    expect(await introspect(app.cookies)).toMatchObject({ active: true, claims: { email } })
  })

  test("withAuth of next-auth/middleware, which calls getToken, reads the JWTs of RemoteJwt", async () => {
    const app = older({ session: { strategy: "jwt" } })
    const email = address()
    await app.signIn(email)
    const req = { cookies: Object.fromEntries(app.cookies), headers: {} }
    const given = { req, secret: "of the application", cookieName: cookie }
    expect(await loadJwt4().getToken({ ...given, decode: jwt4.decode })).toMatchObject({ email })
    expect(await loadJwt4().getToken(given)).toBeNull()
  })

  describe.each(strategies)("with nextAuth4Options, a disabled user, strategy %s", (strategy) => {
    /** An application whose callback and logger record their calls. */
    function start() {
      const asked: unknown[] = []
      const logged: string[] = []
      const callbacks = { signIn: ({ email }: { email?: object }) => Boolean(asked.push(email)) }
      const logger = { error: (code: string) => void logged.push(code) }
      const app = older(nextAuth4Options({ session: { strategy }, callbacks, logger }))
      return { app, asked, logged }
    }
    async function newUser() {
      const email = address()
      const { user } = await authwire.client.users.createUser({ email })
      return { email, id: String(user?.id) }
    }

    test("cannot sign in until it is enabled", async () => {
      const { app, asked, logged } = start()
      const { email, id } = await newUser()
      await authwire.client.users.disableUser({ id, reason: "spam" })
      expect(errorOf(await app.signIn(email))).toBe("AccessDenied")
      expect(await app.session()).toEqual({})
      // The answer to the request of a link does not tell it to a stranger.
      expect([asked, logged]).toEqual([[{ verificationRequest: true }], []])
      await authwire.client.users.enableUser({ id })
      expect(errorOf(await app.signIn(email))).toBeNull()
      expect(await app.session()).toMatchObject({ user: { email } })
      expect(asked).toHaveLength(3)
    })

    test("otherwise gets another error or, with JWTs, is signed in", async () => {
      const { email, id } = await newUser()
      await authwire.client.users.disableUser({ id, reason: "spam" })
      const app = older({ session: { strategy } })
      expect(errorOf(await app.signIn(email))).toBe(strategy === "database" ? "Callback" : null)
    })
  })

  test("what a browser sends to the log of next-auth is not written to the console", async () => {
    const written = jest.spyOn(console, "error").mockImplementation(() => {})
    const { logger } = nextAuth4Options<Pick<Options4, "logger">>({}) as { logger: { error(...args: unknown[]): void } }
    logger.error("CLIENT", { message: "m", stack: "s", client: "true" })
    expect(written).not.toHaveBeenCalled()
    logger.error("SIGNIN_OAUTH_ERROR", { error: new Error("e"), providerId: "p" })
    expect(written).toHaveBeenCalledWith("[next-auth][error][SIGNIN_OAUTH_ERROR]", new Error("e"))
    written.mockRestore()
  })

  test.each(strategies)(
    "with nextAuth4Options a sign-in that an outage interrupts is thrown, and its link works afterwards, strategy %s",
    async (strategy) => {
      const logged = jest.spyOn(console, "error").mockImplementation(() => {})
      const network = await tcpProxy(Number(new URL(authwire.server.grpcUrl).port))
      const url = `http://127.0.0.1:${network.port}`
      const options = {
        adapter: AuthwireAdapter({ url }),
        jwt: RemoteJwt({ url, nextAuth4: true }),
        session: { strategy },
      }
      const app = older(nextAuth4Options(options))
      const email = address()
      const follow = await app.requestLink(email)
      await network.cut()
      await expect(follow()).rejects.toBeInstanceOf(SessionUnavailable)
      await expect(app.requestLink(address())).rejects.toBeInstanceOf(SessionUnavailable)
      await network.restore()
      // The clients connect again after a pause.
      const asked = () => Promise.all([options.adapter.getUser?.("nobody"), options.jwt.encode({ token: {} } as never)])
      await until(async () => {
        const [outcome] = await Promise.allSettled([asked()])
        return outcome.status === "fulfilled"
      })
      expect(errorOf(await follow())).toBeNull()
      expect(await app.session()).toMatchObject({ user: { email } })
      // A sign-out removes the cookie all the same.
      await network.cut()
      if (strategy === "database") await app.signOut()
      else await expect(app.session()).rejects.toBeInstanceOf(SessionUnavailable)
      expect(app.cookies.has(cookie)).toBe(strategy === "jwt")
      await network.close()
      logged.mockRestore()
    },
  )

  test("with nextAuth4Options an outage signs nobody out", async () => {
    const logged = jest.spyOn(console, "error").mockImplementation(() => {})
    const gone = await startAuthwire("sqlite")
    const { grpcUrl: url } = gone.server
    const options = { adapter: AuthwireAdapter({ url }), jwt: RemoteJwt({ url, nextAuth4: true }) }
    const apps = strategies.map((strategy) => older(nextAuth4Options({ ...options, session: { strategy } })))
    for (const app of apps) await app.signIn(address())
    await gone.close()
    // A callback of the application that needs the service, in an application whose own session can be read.
    const callbacks = { session: () => options.adapter.getUser?.("u") as never }
    for (const strategy of strategies) {
      const app = older(nextAuth4Options<Partial<Options4>>({ session: { strategy }, callbacks }))
      await app.signIn(address())
      await expect(app.session()).rejects.toBeInstanceOf(SessionUnavailable)
      expect(app.cookies.has(cookie)).toBe(true)
    }
    for (const app of apps) {
      await expect(app.session()).rejects.toBeInstanceOf(SessionUnavailable)
      expect(app.cookies.has(cookie)).toBe(true)
    }
    const forged = older(nextAuth4Options<Partial<Options4>>({ session: { strategy: "jwt" } }))
    forged.cookies.set(cookie, "forged")
    expect(await forged.session()).toEqual({})
    // By itself next-auth removes the cookie of a JWT session.
    const plain = older({ ...options, session: { strategy: "jwt" } }, new Map(apps[1]?.cookies))
    expect(await plain.session()).toEqual({})
    expect(plain.cookies.has(cookie)).toBe(false)
    logged.mockRestore()
  })
})

/** Runs the first code of docs/next-auth-4.md, and returns the configuration that it exports. */
function documented(): Partial<Options4> {
  const [code = ""] = codeBelow("docs/next-auth-4.md", "next-auth 4", "js")
  const body = code.replaceAll(/^import .*$/gm, "").replace(/^export const \w+ =/m, "return")
  const run = new Function("createAuthwireClient", "nextAuth4Options", "requestContext", body)
  return run(createAuthwireClient, nextAuth4Options, requestContext)
}
