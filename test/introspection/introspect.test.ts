import { SessionStrategy } from "@authwire/proto"
import { type AuthApp, authApp } from "@authwire/test-support/applications/auth-app.js"
import { moment } from "@authwire/test-support/applications/sign-in.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { timestampDate, timestampMs } from "@bufbuild/protobuf/wkt"
import { describe, expect, test } from "@jest/globals"

// Cookies of a real Auth(), over a real socket. Introspect must return the same as Auth.js.

const origins = { http: "http://localhost", https: "https://app.example.com" }
const plain = "authjs.session-token"
const nobody = { active: false }

const target = serviceDatabase()

describe("IntrospectionService", () => {
  const authwire = useAuthwire(target)

  const ask = async (headers: Record<string, string>, more: object = {}) => {
    const list = Object.entries(headers).map(([name, value]) => ({ name, value }))
    const { $typeName, ...answer } = await authwire.client.introspection.introspect({ headers: list, ...more })
    return answer
  }
  /** The whole response to a request without a session. */
  const silent = { ...nobody, sub: "", exp: 0, jti: "", aud: [], strategy: 0, sessionId: "" }
  const appOf = (origin: string, strategy: "database" | "jwt", padding = 0): AuthApp =>
    authApp(origin, {
      adapter: authwire.adapter,
      secret: testSecret,
      session: { strategy },
      callbacks: {
        jwt: ({ token }) => (padding === 0 ? token : { ...token, padding: "x".repeat(padding) }),
        session: ({ session, user, token }) => ({ ...session, user: { ...session.user, id: user?.id ?? token.sub } }),
      },
    })
  const address = () => `${crypto.randomUUID()}@example.com`
  const nameOf = (origin: string) => (origin.startsWith("https") ? `__Secure-${plain}` : plain)
  const rowOf = async (userId: string) =>
    (await authwire.rows("SELECT expires, last_seen FROM sessions WHERE user_id = ?", [userId]))[0]

  describe.each(Object.entries(origins))("an application at %s", (_, origin) => {
    test("with sessions in the database", async () => {
      const app = appOf(origin, "database")
      const email = address()
      await app.signIn(email)
      expect([...app.cookies.keys()]).toContain(nameOf(origin))
      const said = await app.session()
      expect(said?.user).toMatchObject({ email })
      const userId = said?.user?.id as string
      const [session] = (await authwire.client.sessions.listSessions({ userId })).sessions

      const answer = await ask({ Cookie: app.cookieHeader() })
      expect(answer).toMatchObject({
        active: true,
        sub: userId,
        jti: session?.id,
        sessionId: session?.id,
        strategy: SessionStrategy.DATABASE,
        user: { id: userId, email },
      })
      const expires = answer.expires && timestampMs(answer.expires)
      expect(expires).toBe(session?.expires && timestampMs(session.expires))
      expect(answer.exp).toBe(Math.floor((expires as number) / 1000))
      expect([answer.iat, answer.claims, answer.iss]).toEqual([undefined, undefined, undefined])
      const token = app.cookies.get(nameOf(origin)) as string
      expect(JSON.stringify(answer, (_, value) => (typeof value === "bigint" ? `${value}` : value))).not.toContain(
        token,
      )
      expect(await ask({ authorization: `Bearer ${token}` })).toMatchObject({ active: true, sub: userId })
      expect(await ask({ cookie: app.cookieHeader() }, { strategy: SessionStrategy.JWT })).toEqual(silent)

      const before = app.cookieHeader()
      await app.signOut()
      expect(await app.session()).toBeNull()
      expect(await ask({ cookie: app.cookieHeader() })).toEqual(silent)
      expect(await ask({ cookie: before })).toEqual(silent)
    })

    test.each([
      ["in one cookie", 0],
      ["in chunks", 9_000],
      ["in more than ten chunks", 33_000],
    ])("with JWTs, %s", async (_, padding) => {
      const app = appOf(origin, "jwt", padding)
      const email = address()
      await app.signIn(email)
      const name = nameOf(origin)
      const parts = [...app.cookies.keys()].filter((each) => each.startsWith(name))
      expect(parts).toEqual(padding === 0 ? [name] : parts.map((_, index) => `${name}.${index}`))
      expect(parts.length > 10).toBe(padding > 30_000)
      const said = await app.session()
      expect(said?.user).toMatchObject({ email })
      const sub = said?.user?.id as string

      const answer = await ask({ cookie: app.cookieHeader() })
      expect(answer).toMatchObject({
        active: true,
        sub,
        strategy: SessionStrategy.JWT,
        jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
        claims: { sub, email, ...(padding > 0 && { padding: "x".repeat(padding) }) },
      })
      const { exp, iat, jti } = answer.claims as { exp: number; iat: number; jti: string }
      expect(answer).toMatchObject({ exp, iat, jti, sessionId: jti })
      expect(answer.user).toBeUndefined()
      expect(answer.expires && timestampDate(answer.expires)).toEqual(new Date(exp * 1000))
      const token = parts.map((part) => app.cookies.get(part)).join("")
      expect(await ask({ Authorization: `Bearer ${token}` })).toMatchObject({ active: true, sub })
      expect(await ask({ cookie: app.cookieHeader() }, { strategy: SessionStrategy.DATABASE })).toEqual(silent)

      // As HTTP/2 may send them: each cookie in its own header, in any order.
      const crumbs = [...app.cookies].reverse().map(([each, value]) => ({ name: "cookie", value: `${each}=${value}` }))
      expect(await authwire.client.introspection.introspect({ headers: crumbs })).toMatchObject({ active: true, sub })
      if (parts.length > 1) {
        const without = [...app.cookies].filter(([each]) => each !== parts[1]).map((pair) => pair.join("="))
        expect(await ask({ cookie: without.join("; ") })).toEqual(silent)
      }

      const byUser = await ask({ cookie: app.cookieHeader() }, { withUser: true })
      expect(byUser).toMatchObject({ active: true, user: { id: sub, email } })
      await authwire.client.users.deleteUser({ id: sub })
      expect(await ask({ cookie: app.cookieHeader() }, { withUser: true })).toEqual(silent)

      await app.signOut()
      expect(await ask({ cookie: app.cookieHeader() })).toEqual(silent)
    })
  })

  test("a session is recorded as seen and not extended, however often it is introspected", async () => {
    const app = appOf(origins.http, "database")
    await app.signIn(address())
    const cookie = app.cookieHeader()
    const { sub, expires } = await ask({ cookie })
    const longAgo = target === "sqlite" ? "2020-01-01 00:00:00.000" : new Date("2020-01-01T00:00:00Z")
    await authwire.database.query("UPDATE sessions SET last_seen = ? WHERE user_id = ?", [longAgo, sub])
    await Promise.all(Array.from({ length: 50 }, () => ask({ cookie })))
    await until(async () => moment((await rowOf(sub))?.last_seen).getTime() > Date.now() - 60_000)
    expect((await ask({ cookie })).expires).toEqual(expires)
    expect(moment((await rowOf(sub))?.expires)).toEqual(expires && timestampDate(expires))
  })
})
