import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { command, createKey } from "@authwire/test-support/processes/keys.js"
import { type ServerProcess, testSecret } from "@authwire/test-support/processes/server.js"
import { altered } from "@authwire/test-support/schema/altered.js"
import { until } from "@authwire/test-support/until.js"
import { nextAuth4 } from "@authwire/token"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type Question, ways } from "./ask.js"
import { cookie, type GatewayService, signedIn, startGatewayService } from "./service.js"

// The decisions about requests, which are the same over both protocols. proxies.test.ts tests how proxies apply them.
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

    test("with next_auth4, a JWT of next-auth 4", async () => {
      const token = await nextAuth4.encode({ token: { sub: "7" }, secret: testSecret })
      const headers = { cookie: `next-auth.session-token=${token}` }
      expect(await ask({ headers, settings: { next_auth4: "true" } })).toMatchObject({ status: 200 })
      for (const settings of [{}, { next_auth4: "false" }, { cookie_name: "next-auth.session-token" }]) {
        expect(await ask({ headers, settings })).toEqual({ status: 401, told: {} })
      }
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

    test("roles: those of the property, compared as whole names", async () => {
      const cases: [property: Record<string, unknown>, settings: Record<string, string>, status: number][] = [
        [{ role: "admin" }, { roles: "admin" }, 200],
        [{ role: "admin" }, { roles: "owner, admin" }, 200],
        [{ roles: ["user", "admin"] }, { roles: "admin" }, 200],
        [{ role: "user", roles: ["admin"] }, { roles: "admin" }, 200],
        [{ groups: ["admin"] }, { roles: "admin", role_property: "groups" }, 200],
        [{ role: "admin" }, { roles: "admin", role_property: "groups" }, 403],
        [{ groups: ["admin"] }, { roles: "admin" }, 403],
        [{}, { roles: "admin" }, 403],
        [{ role: "Admin" }, { roles: "admin" }, 403],
        [{ role: "admin,user" }, { roles: "admin" }, 403],
        [{ role: ["admin"] }, { roles: "admin" }, 200],
        [{ role: { admin: true } }, { roles: "admin" }, 403],
        [{ role: true }, { roles: "true" }, 403],
        [{ name: "admin" }, { roles: "admin", role_property: "name" }, 403],
        [{}, { roles: "toString", role_property: "constructor" }, 403],
      ]
      for (const [property, settings, status] of cases) {
        const { headers } = await signIn(property)
        expect([property, settings, (await ask({ headers, settings })).status]).toEqual([property, settings, status])
        if ("name" in property) continue
        const token = await jwtOf({ sub: "1", ...property })
        const ofClaims = { ...settings, with_user: "false" }
        expect([property, settings, (await ask({ headers: token, settings: ofClaims })).status]).toEqual([
          property,
          settings,
          status,
        ])
      }
      expect(await ask({ settings: { roles: "admin" } })).toEqual({ status: 401, told: {} })
    })

    test("with roles, a JWT counts for what the stored user is now, unless with_user is false", async () => {
      const { userId } = await signIn({ role: "admin", name: "Ada" })
      const headers = await jwtOf({ sub: userId, role: "admin", name: "Eve" })
      const settings = { roles: "admin,user", headers: "x-auth-role=role,x-auth-name=name" }
      const roleOf = async (more = {}) => {
        const { status, told } = await ask({ headers, settings: { ...settings, ...more } })
        return [status, told["x-auth-role"], told["x-auth-name"]]
      }
      expect(await roleOf()).toEqual([200, "admin", "Ada"])
      const updateMask = { paths: ["extra"] }
      await client.users.updateUser({ id: userId, extra: { role: "user" }, updateMask })
      expect(await roleOf()).toEqual([200, "user", "Ada"])
      expect(await roleOf({ roles: "admin" })).toEqual([403, undefined, undefined])
      await client.users.updateUser({ id: userId, extra: { role: null }, updateMask })
      expect(await roleOf()).toEqual([403, undefined, undefined])
      await client.users.deleteUser({ id: userId })
      expect(await roleOf()).toEqual([401, undefined, undefined])
      expect(await roleOf({ with_user: "false" })).toEqual([200, "admin", "Eve"])
      const optional = { policy: "optional", headers: "x-auth-role=role" }
      expect(await ask({ headers, settings: { ...optional, with_user: "true" } })).toEqual({ status: 200, told: {} })
      expect((await ask({ headers, settings: optional })).told).toMatchObject({ "x-auth-role": "admin" })
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

    test("headers have the configured values, encoded so that nothing is lost or misinterpreted", async () => {
      const user = {
        name: " Zoë, 100%\r\nx-auth-user-id: root ",
        image: "https://example.com/a.png?b=c",
        plan: "gold",
        age: 7,
        beta: true,
        groups: ["a,b", "c"],
        nested: { no: 1 },
        large: "x".repeat(5_000),
        empty: "",
      }
      const { headers, told, email } = await signIn(user)
      const names = Object.keys(user)
      const settings = {
        headers: ["x-auth-email=email", ...names.map((name) => `x-auth-${name}=${name}`), "x-auth-none=none"].join(","),
      }
      const answer = await ask({ headers, settings })
      expect(answer.told).toEqual({
        ...told,
        "x-auth-email": email,
        "x-auth-name": encodeURIComponent(user.name).replaceAll("%3A", ":"),
        "x-auth-image": user.image,
        "x-auth-plan": "gold",
        "x-auth-age": "7",
        "x-auth-beta": "true",
        "x-auth-groups": "a%2Cb,c",
      })
      expect(decodeURIComponent(answer.told["x-auth-name"] as string)).toBe(user.name)
    })

    test("a user id that does not fit into a header counts as no user", async () => {
      const headers = await jwtOf({ sub: "é".repeat(1_000) })
      expect(await ask({ headers })).toEqual({ status: 401, told: {} })
    })

    test("a redirect goes to the sign-in page and nowhere else, whatever the request is", async () => {
      const settings = { sign_in: "https://login.example.com/in?from=gateway" }
      const page = { accept: "text/html" }
      const location = async (question: Question) => (await ask({ settings, headers: page, ...question })).location
      expect(await location({ scheme: "https", host: "app.example.com:8443", path: "/a?b=c#d" })).toBe(
        `${settings.sign_in}&callbackUrl=${encodeURIComponent("https://app.example.com:8443/a?b=c#d")}`,
      )
      const paths = ["//evil.example", "/\\evil.example", "/@evil.example", "/%0d%0alocation:x", "/&callbackUrl=x"]
      for (const path of paths) {
        const at = new URL((await location({ scheme: "https", host: "app.example.com", path })) as string)
        expect(at.origin + at.pathname).toBe("https://login.example.com/in")
        const back = at.searchParams.getAll("callbackUrl")
        expect(back).toEqual([`https://app.example.com${path}`])
        expect(new URL(back[0] as string).host).toBe("app.example.com")
      }
      const without: Question[] = [
        { scheme: "javascript", host: "a.example", path: "/" },
        { scheme: "https", host: "user@evil.example", path: "/" },
        { scheme: "https", host: "a.example/b", path: "/" },
        { scheme: "https", host: "", path: "/" },
        { scheme: "https", host: "a.example", path: "*" },
        { scheme: "https", host: "a.example", path: `/${"x".repeat(2_048)}` },
      ]
      for (const question of without) expect([question, await location(question)]).toEqual([question, settings.sign_in])
    })

    test("only browsers that request a page are redirected", async () => {
      const settings = { sign_in: "/in" }
      const cases: [Question, number][] = [
        [{ headers: { accept: "text/html" } }, 302],
        [{ headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } }, 302],
        [{ headers: { accept: "application/json, text/html;q=0.9" } }, 302],
        [{ headers: { accept: "text/html", "sec-fetch-mode": "navigate" } }, 302],
        [{ headers: { accept: "text/html" }, method: "HEAD" }, 302],
        [{ headers: { accept: "text/html", "sec-fetch-mode": "cors" } }, 401],
        [{ headers: { accept: "text/html" }, method: "POST" }, 401],
        [{ headers: { accept: "*/*" } }, 401],
        [{ headers: { accept: "text/htmlx" } }, 401],
        [{}, 401],
      ]
      for (const [question, status] of cases) {
        expect([question, (await ask({ ...question, settings })).status]).toEqual([question, status])
      }
    })

    test("another cookie, if the setting names it", async () => {
      const { sessionToken, told } = await signIn()
      const headers = { cookie: `my.session=${sessionToken}` }
      expect(await ask({ headers, settings: { cookie_name: "my.session" } })).toEqual({ status: 200, told })
      expect(await ask({ headers })).toEqual({ status: 401, told: {} })
      const own = { cookie: `${cookie}=${sessionToken}` }
      expect(await ask({ headers: own, settings: { cookie_name: "my.session" } })).toEqual({ status: 401, told: {} })
    })

    test.each<[Record<string, string>, string]>([
      [{ policies: "required" }, "contains a setting that is not one of tenant, policy, roles"],
      [{ Roles: "admin" }, "contains a setting that is not one of"],
      [JSON.parse('{"__proto__":"x"}'), "contains a setting that is not one of"],
      [{ constructor: "x" }, "contains a setting that is not one of"],
      [{ policy: "" }, "policy must be required or optional"],
      [{ policy: "Optional" }, "policy must be required or optional"],
      [{ policy: "constructor" }, "policy must be required or optional"],
      [{ roles: "" }, "roles must be a list of 1 to 64 roles"],
      [{ roles: "admin,,user" }, "roles must be a list of 1 to 64 roles"],
      [{ roles: "admin", policy: "optional" }, "roles needs policy to be required"],
      [{ role_property: "a b" }, "role_property must be the name of a property"],
      [{ sign_in: "javascript:alert(1)" }, "sign_in must be an http or https URL"],
      [{ sign_in: "//evil.example" }, "sign_in must be"],
      [{ sign_in: "/\\evil.example" }, "sign_in must be"],
      [{ sign_in: "/in#x" }, "sign_in must be"],
      [{ sign_in: "https://a b" }, "sign_in must be"],
      [{ sign_in: "" }, "sign_in must be"],
      [{ cookie_name: "a b" }, "cookie_name must be the name of a cookie"],
      [{ cookie_name: "" }, "cookie_name must be the name of a cookie"],
      [{ strategy: "JWT" }, "strategy must be database or jwt"],
      [{ strategy: "constructor" }, "strategy must be database or jwt"],
      [{ with_user: "yes" }, "with_user must be true or false"],
      [{ secure_cookie: "" }, "secure_cookie must be true or false"],
      [{ user_id_claim: "" }, "user_id_claim must be a text of 1 to 256 bytes"],
      [{ salt: "é".repeat(129) }, "salt must be a text of 1 to 256 bytes"],
      [{ preflight: "true" }, "preflight must be check or forward"],
      [{ headers: "email" }, "headers must be a list of 1 to 16 x-auth-NAME=PROPERTY"],
      [{ headers: "host=email" }, "headers must be"],
      [{ headers: "x-auth-user-id=email" }, "headers must be"],
      [{ headers: "x-auth-a=a,x-auth-a=b" }, "headers must be"],
      [{ headers: "x-auth-a\r\nb=a" }, "headers must be"],
      [{ headers: Array.from({ length: 17 }, (_, at) => `x-auth-${at}=a`).join() }, "headers must be"],
      [{ tenant: "another" }, "tenant must be the tenant of the API key"],
      [{ sign_in: `/${"x".repeat(9_000)}` }, "must not be longer than 8192 characters"],
    ])("the settings %j let nobody in", async (settings, words) => {
      const { headers } = await signIn({ role: "admin" })
      await expect(ask({ headers, settings })).rejects.toThrow(words)
      await expect(ask({ headers, settings })).rejects.not.toThrow(/evil|another|alert/)
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
  })
})
