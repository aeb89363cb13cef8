import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { command, createKey } from "@authwire/test-support/processes/keys.js"
import type { ServerProcess } from "@authwire/test-support/processes/server.js"
import { altered } from "@authwire/test-support/schema/altered.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type Question, ways } from "./ask.js"
import { describeRedirects } from "./redirects.js"
import { describeRoles } from "./roles.js"
import { type AskedGateway, cookie, type GatewayService, signedIn, startGatewayService } from "./service.js"
import { describeSettings } from "./settings.js"

// The decisions about requests, which are the same over both protocols: here, and in the files that this one calls.
// proxies.long.test.ts tests how proxies apply them.
const target = serviceDatabase()

describe(`on ${target}`, () => {
  let service: GatewayService
  let server: ServerProcess
  let client: AuthwireClient
  let gateway: string
  let foreignGateway: string
  let foreignClient: AuthwireClient
  beforeAll(async () => {
    service = await startGatewayService(target)
    ;({ server, client, gateway } = service)
    await command(service.database, "tenants", "create", "other")
    foreignGateway = (await createKey(service.database, "sessions:introspect", "--tenant=other")).text
    const foreignKey = (await createKey(service.database, "all", "--tenant=other")).text
    foreignClient = createAuthwireClient({ url: server.grpcUrl, apiKey: foreignKey })
    // A replica learns of a new key a moment later.
    await foreignClient.users.countUsers({})
  })
  afterAll(async () => {
    foreignClient?.close()
    await service?.close()
  })

  const signIn = (user: Record<string, unknown> = {}, by = client) => signedIn(by, user)
  const jwtOf = async (claims: Record<string, unknown>) => ({
    cookie: `${cookie}=${await client.jwt.encode({ token: claims, salt: cookie, secret: "" })}`,
  })

  describe.each(ways)("by $name", (way) => {
    const ask = (question: Question, key: string | null = gateway) => way.ask(server, key ?? undefined, question)

    test("a session of the database: the user and the id of the session, never its token", async () => {
      const { headers, told, sessionToken } = await signIn({ name: "Ada" })
      const answer = await ask({ headers })
      expect(answer).toEqual({ status: 200, told })
      expect(JSON.stringify(answer)).not.toContain(sessionToken)
      expect(await ask({ headers, settings: { policy: "required" } })).toEqual(answer)
      expect(await ask({ headers, settings: { policy: "optional", tenant: "default" } })).toEqual(answer)
    })

    test("a JWT: its claims", async () => {
      const headers = await jwtOf({ sub: "7", email: "a@b.c", jti: "j" })
      const { status, told } = await ask({ headers, settings: { headers: "x-auth-email=email" } })
      expect({ status, told }).toEqual({
        status: 200,
        told: { "x-auth-user-id": "7", "x-auth-session-id": expect.any(String), "x-auth-email": "a@b.c" },
      })
    })

    test("no session: 401, or passed on without a user if the policy is optional", async () => {
      for (const headers of [{}, { cookie: `${cookie}=none` }, { cookie: "other=x" }, { authorization: "Bearer x" }]) {
        expect(await ask({ headers })).toEqual({ status: 401, told: {} })
        expect(await ask({ headers, settings: { policy: "optional" } })).toEqual({ status: 200, told: {} })
      }
    })

    test("a tenant never sees the sessions of another tenant, even with equal users and tokens", async () => {
      const here = await signIn()
      const there = await signIn({ id: here.userId }, foreignClient)
      expect(await ask({ headers: here.headers }, foreignGateway)).toEqual({ status: 401, told: {} })
      expect(await ask({ headers: there.headers })).toEqual({ status: 401, told: {} })
      expect(await ask({ headers: there.headers }, foreignGateway)).toMatchObject({ status: 200, told: there.told })
      expect(await ask({ headers: there.headers, settings: { tenant: "other" } }, foreignGateway)).toMatchObject({
        status: 200,
      })
      await expect(ask({ headers: there.headers, settings: { tenant: "other" } })).rejects.toThrow(
        "tenant must be the tenant of the API key",
      )
    })

    test("a disabled user is not signed in, unless with_user is false", async () => {
      const { userId, headers: byDatabase } = await signIn()
      const byJwt = await jwtOf({ sub: userId })
      const statusOf = async (headers: Record<string, string>, settings = {}) =>
        (await ask({ headers, settings })).status
      for (const headers of [byDatabase, byJwt]) expect(await statusOf(headers)).toBe(200)
      await client.users.disableUser({ id: userId })
      for (const headers of [byDatabase, byJwt]) expect(await statusOf(headers)).toBe(401)
      expect(await statusOf(byJwt, { with_user: "false" })).toBe(200)
      await client.users.enableUser({ id: userId })
      expect([await statusOf(byDatabase), await statusOf(byJwt)]).toEqual([401, 200])
    })

    test("settings restrict which sessions count, as fields of Introspect do", async () => {
      const { headers: byDatabase, sessionToken, told } = await signIn()
      const byJwt = await jwtOf({ sub: "7", uid: "8" })
      const bySalt = `${cookie}=${await client.jwt.encode({ token: { sub: "9" }, salt: "salt", secret: "" })}`
      const cases: [Record<string, string>, Record<string, string>, user: string | undefined][] = [
        [{ strategy: "database" }, byDatabase, told["x-auth-user-id"]],
        [{ strategy: "database" }, byJwt, undefined],
        [{ strategy: "jwt" }, byDatabase, undefined],
        [{ strategy: "jwt" }, byJwt, "7"],
        [{ user_id_claim: "uid" }, byJwt, "8"],
        [{ user_id_claim: "none" }, byJwt, undefined],
        [{ secure_cookie: "true" }, byDatabase, undefined],
        [{ secure_cookie: "true" }, { cookie: `__Secure-${cookie}=${sessionToken}` }, told["x-auth-user-id"]],
        [{}, { cookie: bySalt }, undefined],
        [{ salt: "salt" }, { cookie: bySalt }, "9"],
      ]
      for (const [settings, headers, user] of cases) {
        const answer = await ask({ headers, settings })
        expect([settings, answer.told["x-auth-user-id"]]).toEqual([settings, user])
      }
      await until(() => server.log().includes("user_id_claim"))
    })

    test("a CORS preflight request is forwarded without a user, if the setting says so, and nothing else is", async () => {
      const { headers: session, told } = await signIn()
      const preflight = { origin: "https://a.example", "access-control-request-method": "POST" }
      const { origin } = preflight
      const settings = { preflight: "forward", roles: "admin" }
      const method = "OPTIONS"
      expect(await ask({ method, headers: preflight, settings })).toEqual({ status: 200, told: {} })
      expect(await ask({ method, headers: { ...preflight, ...session }, settings })).toEqual({ status: 200, told: {} })
      for (const question of [{ headers: preflight }, { method, headers: { origin } }, { method }]) {
        expect(await ask({ ...question, settings })).toEqual({ status: 401, told: {} })
      }
      expect(await ask({ method, headers: preflight, settings: { preflight: "check" } })).toMatchObject({ status: 401 })
      expect(await ask({ method, headers: preflight })).toMatchObject({ status: 401 })
      expect(await ask({ headers: session, settings: { preflight: "forward" } })).toEqual({ status: 200, told })
    })

    test("the cookies of a large JWT are accepted", async () => {
      for (const bytes of [20_000, 40_000]) {
        const { cookie: one = "" } = await jwtOf({ sub: "7", padding: "x".repeat(bytes) })
        const [name, value = ""] = one.split("=")
        const chunks = value.match(/.{1,3936}/g)?.map((chunk, at) => `${name}.${at}=${chunk}`)
        const headers = { cookie: chunks?.join("; ") ?? "" }
        expect(headers.cookie.length).toBeGreaterThan(bytes)
        expect((await ask({ headers })).told).toMatchObject({ "x-auth-user-id": "7" })
      }
    })

    test("a user id that does not fit into a header counts as no user", async () => {
      const headers = await jwtOf({ sub: "é".repeat(1_000) })
      expect(await ask({ headers })).toEqual({ status: 401, told: {} })
    })

    test("the key of a gateway can do nothing else, and no other key can do this", async () => {
      const { headers } = await signIn()
      const other = (await createKey(service.database, "sessions:read,sessions:write,users:read,tokens:decode")).text
      await expect(ask({ headers }, other)).rejects.toThrow(/lacks the scope sessions:introspect/)
      const header = way.name.startsWith("GET") ? "x-api-key: awk_…, because authorization is" : "authorization: Bearer"
      await expect(ask({ headers }, null)).rejects.toThrow(`the call has no API key: send it as ${header}`)
      await expect(ask({ headers }, altered(gateway))).rejects.toThrow(/unknown, revoked or expired/)
      const limited = createAuthwireClient({ url: server.grpcUrl, apiKey: gateway })
      await expect(limited.users.getUser({ id: "1" })).rejects.toThrow(/lacks the scope/)
      await expect(limited.sessions.getSessionAndUser({ sessionToken: "1" })).rejects.toThrow(/lacks the scope/)
      limited.close()
    })

    const asked: AskedGateway = { ask, signIn, jwtOf, client: () => client }
    describeRoles(asked)
    describeRedirects(asked)
    describeSettings(asked)
  })
})
