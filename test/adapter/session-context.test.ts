import type { AuthConfig } from "@auth/core"
import { AuthwireAdapter, throwOutages } from "@authwire/client"
import { AuthwireAdapter as EdgeAdapter } from "@authwire/client/edge"
import { withRequestContext } from "@authwire/client/request-context"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { describe, expect, test } from "@jest/globals"

const target = serviceDatabase()

describe("the context of a session", () => {
  const authwire = useAuthwire(target)

  const newSession = async () => {
    const user = await authwire.adapter.createUser({
      id: crypto.randomUUID(),
      email: `${crypto.randomUUID()}@x`,
      emailVerified: null,
    })
    return { sessionToken: crypto.randomUUID(), userId: user.id, expires: new Date("2099-01-01T00:00:00Z") }
  }
  const textOf = (value: unknown) => (Buffer.isBuffer(value) ? value.toString() : value)

  test("is stored with the session, and truncated where the client could make it too long", async () => {
    const userAgent = `${"é".repeat(511)}\u{1f98a}`
    const context = async () => ({ ip: "6".repeat(1000), userAgent, authMethod: null, provider: "Gîthub" })
    const adapters = [
      AuthwireAdapter({ url: authwire.server.grpcUrl, context }),
      EdgeAdapter({ url: authwire.server.httpUrl, context }),
    ]
    for (const adapter of adapters) {
      const session = await newSession()
      expect(await adapter.createSession(session)).toEqual(session)
      const [row] = await authwire.rows("SELECT * FROM sessions WHERE user_id = ?", [session.userId])
      expect([row?.ip, row?.user_agent]).toEqual(["6".repeat(64), `${"é".repeat(511)}\ufffd`])
      expect([textOf(row?.provider), row?.auth_method, row?.impersonator]).toEqual(["Gîthub", null, null])
    }
  })

  test("an address of IPv4 that a socket reports as IPv6 is stored and found as IPv4", async () => {
    const context = () => ({ ip: "::ffff:192.0.2.77" })
    const session = await newSession()
    await AuthwireAdapter({ url: authwire.server.grpcUrl, context }).createSession(session)
    expect(await authwire.rows("SELECT ip FROM sessions WHERE user_id = ?", [session.userId])).toEqual([
      { ip: "192.0.2.77" },
    ])
    for (const ip of ["192.0.2.77", "::ffff:192.0.2.77"])
      expect((await authwire.client.sessions.listSessions({ allUsers: true, ip })).sessions).toMatchObject([
        { userId: session.userId, ip: "192.0.2.77" },
      ])
  })

  const tokenWith = (sid: unknown) => `x.${Buffer.from(JSON.stringify({ sid })).toString("base64url")}.y`

  test.each([
    ["is that of the ID token", tokenWith("sid é \u{1f98a}"), "sid é \u{1f98a}"],
    ["that is too long is not stored", tokenWith("é".repeat(128)), undefined],
    ["that is no text is not stored", tokenWith(7), undefined],
    ["is missing without an ID token", undefined, undefined],
    ["is missing in what is no token", "x.%.y", undefined],
  ])("the provider of a sign-in is stored with the session, and the session there %s", async (_, id_token, sid) => {
    const { grpcUrl, httpUrl } = authwire.server
    const account = { provider: "demo", providerAccountId: "a", type: "oidc" as const, ...(id_token && { id_token }) }
    for (const adapter of [AuthwireAdapter({ url: grpcUrl }), EdgeAdapter({ url: httpUrl })]) {
      const session = await newSession()
      // Auth.js calls the callback `signIn` before it creates the session.
      const signIn = throwOutages<AuthConfig>({ adapter, providers: [] }).callbacks?.signIn
      await withRequestContext(new Request("https://app.example/auth/callback/demo?code=x"), async () => {
        expect(await signIn?.({ user: { id: session.userId }, account })).toBe(true)
        await adapter.createSession(session)
      })
      const [row] = await authwire.rows("SELECT * FROM sessions WHERE user_id = ?", [session.userId])
      expect([textOf(row?.provider), textOf(row?.provider_session_id) ?? undefined]).toEqual(["demo", sid])
      expect(row?.ip).toBeNull()
    }
  })

  test("of another provider gets no session of the one that the user signs in with", async () => {
    const session = await newSession()
    const context = () => ({ provider: "other" })
    const adapter = AuthwireAdapter({ url: authwire.server.grpcUrl, context })
    const known = { provider: "demo", providerSessionId: "sid" }
    await withRequestContext(new Request("https://app.example"), () => adapter.createSession(session), known)
    const [row] = await authwire.rows("SELECT * FROM sessions WHERE user_id = ?", [session.userId])
    expect([textOf(row?.provider), row?.provider_session_id]).toEqual(["other", null])
  })

  test("may be missing; an error of the callback is thrown, and no session is created", async () => {
    const session = await newSession()
    const { grpcUrl: url } = authwire.server
    const fault = new Error("of the application")
    const failing = AuthwireAdapter({ url, context: () => Promise.reject(fault) })
    await expect(failing.createSession(session)).rejects.toThrow()
    expect(await authwire.rows("SELECT id FROM sessions WHERE user_id = ?", [session.userId])).toEqual([])
    expect(await AuthwireAdapter({ url, context: () => undefined }).createSession(session)).toEqual(session)
  })
})
