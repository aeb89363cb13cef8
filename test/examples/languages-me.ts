import { setTimeout as delay } from "node:timers/promises"
import type { AuthwireClient } from "@authwire/client"
import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { type Language, type ServingExample, serveExample } from "@authwire/test-support/machine/languages.js"
import type { ServerProcess } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"

/** Tests the route of an example that says who is signed in. */
export function describeMe({
  language,
  introspecting,
  server,
  client,
  restart,
}: {
  language: Language
  /** A key with the scope sessions:introspect. */
  introspecting: string
  server(): ServerProcess
  client(): AuthwireClient
  /** Starts the server again at the same address. */
  restart(): Promise<void>
}): void {
  let example: ServingExample
  const me = async (headers: Record<string, string>) => {
    const response = await fetch(example.meUrl, { headers })
    return { status: response.status, body: (await response.json()) as unknown }
  }
  const nobody = { status: 401, body: { error: "nobody is signed in" } }
  const unknown = { status: 503, body: { error: "cannot tell who is signed in" } }
  const tokenOf = (claims: Record<string, unknown>) =>
    client().jwt.encode({ token: claims, salt: sessionCookie, secret: "" })
  const chunked = (token: string) =>
    (token.match(/.{1,3936}/g) ?? []).map((chunk, index) => `${sessionCookie}.${index}=${chunk}`)
  const ada = { sub: "ada", name: "Ada", email: "ada@example.com" }
  const adaByJwt = { status: 200, body: { userId: "ada", name: "Ada", email: "ada@example.com", by: "jwt" } }

  beforeAll(async () => {
    example = await serveExample(language, { url: server().grpcUrl, apiKey: introspecting })
  })
  afterAll(() => example?.stop())

  test("by JWT: in the cookie, in chunks in any order, as Bearer", async () => {
    const token = await tokenOf(ada)
    expect(await me({ cookie: `theme=dark; ${sessionCookie}=${token}` })).toEqual(adaByJwt)
    expect(await me({ authorization: `Bearer ${token}` })).toEqual(adaByJwt)
    const chunks = chunked(await tokenOf({ ...ada, picture: "x".repeat(9000) }))
    expect(chunks.length).toBeGreaterThan(2)
    expect(await me({ cookie: chunks.toReversed().join("; ") })).toEqual(adaByJwt)
    expect(await me({ cookie: chunks.slice(1).join("; ") })).toEqual(nobody)
  })

  test.each(["d3b07384-d9a0-4c9b-8f6e-1f1c7d1f3d5a", "with+plus/slash=and space%25"])(
    "by database session %#",
    async (sessionToken) => {
      const user = await client().adapter.createUser({
        id: crypto.randomUUID(),
        email: `${sessionToken.length}@example.com`,
        name: "Grace",
        emailVerified: null,
      })
      const expires = new Date(Date.now() + 60_000)
      await client().adapter.createSession({ sessionToken, userId: user.id, expires })
      const cookie = `a{malformed}cookie; ${sessionCookie}=${encodeURIComponent(sessionToken)}; theme=dark`
      expect(await me({ cookie })).toEqual({
        status: 200,
        body: { userId: user.id, name: "Grace", email: user.email, by: "session" },
      })
      await client().adapter.deleteSession(sessionToken)
      expect(await me({ cookie })).toEqual(nobody)
    },
  )

  test.each([
    ["no cookie", {}],
    ["an unknown session", { cookie: `${sessionCookie}=unknown` }],
    ["malformed percent-encoding", { cookie: `${sessionCookie}=%zz` }],
    ["a byte that is not UTF-8", { cookie: `${sessionCookie}=\xff` }],
    ["Bearer with something that is no token", { authorization: "Bearer x" }],
  ])("401 for %s", async (_, headers) => {
    expect(await me(headers)).toEqual(nobody)
  })

  test("401 for an expired JWT and an expired session", async () => {
    const token = await client().jwt.encode({ token: ada, salt: sessionCookie, secret: "", maxAge: -3600 })
    expect(await me({ cookie: `${sessionCookie}=${token}` })).toEqual(nobody)
    const user = await client().adapter.createUser({ id: crypto.randomUUID(), email: "x@y.z", emailVerified: null })
    await client().adapter.createSession({ sessionToken: "old", userId: user.id, expires: new Date(0) })
    expect(await me({ cookie: `${sessionCookie}=old` })).toEqual(nobody)
  })

  test("503 while the server is down, also without a session; the same cookie is valid again afterwards", async () => {
    const cookie = `${sessionCookie}=${await tokenOf(ada)}`
    expect(await me({ cookie })).toEqual(adaByJwt)
    await server().stop()
    expect(await me({ cookie })).toEqual(unknown)
    expect(await me({})).toEqual(unknown)
    await restart()
    await until(async () => (await me({ cookie })).status !== 503)
    expect(await me({ cookie })).toEqual(adaByJwt)
  })

  test("503 after the deadline while the server does not respond; SIGTERM waits for that, and the example exits", async () => {
    const cookie = `${sessionCookie}=${await tokenOf(ada)}`
    process.kill(server().pid, "SIGSTOP")
    try {
      const begin = performance.now()
      const answer = me({ cookie })
      // By now the example has received the request, which is not observable from outside. The delay allows for a
      // slow machine.
      await delay(500)
      const exit = example.stop()
      expect(await answer).toEqual(unknown)
      expect(performance.now() - begin).toBeLessThan(10_000)
      expect(await exit).toBe(language.exitCode)
    } finally {
      process.kill(server().pid, "SIGCONT")
    }
    const [, payload] = cookie.split("=")
    expect(example.output()).not.toContain(payload)
  })
}
