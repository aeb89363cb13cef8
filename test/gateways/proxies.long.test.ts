import type { AuthwireClient } from "@authwire/client"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { createRemoteJWKSet, jwtVerify } from "jose"
import { type Application, startApplication } from "./application.js"
import { type Gateway, kinds } from "./proxies.js"
import { told, type Visit, visit } from "./visit.js"

// Real proxies, configured by the examples, between a client and an application. decisions.test.ts tests the policies.
const cookie = "authjs.session-token"
const page = ["accept", "text/html,application/xhtml+xml"] as const
const forged: Visit["headers"] = [
  ["x-auth-user-id", "root"],
  ["X-Auth-User-Id", "root too"],
  ["x-auth-session-id", "forged"],
  ["x-auth-email", "root@example.com"],
  ["x-auth-role", "admin"],
  ["x_auth_user_id", "root"],
  ["x-authwire-identity", "forged"],
  ["x_authwire_identity", "forged"],
]

/** They would lead to another address after the sign-in. */
const forgedTarget: NonNullable<Visit["headers"]> = ["original", "forwarded"].flatMap((prefix) => [
  [`x-${prefix}-method`, "POST"],
  [`x-${prefix}-host`, "evil.example"],
  [`x-${prefix}-uri`, "/evil"],
])

const behind = (kind: (typeof kinds)[number]) => {
  const later = endsAfterEach()
  const key = staticKey(["sessions:introspect"])
  const operator = staticKey(["all"])
  const env = { AUTHWIRE_API_KEYS: JSON.stringify([key.entry, operator.entry]) }
  let client: AuthwireClient
  let application: Application
  let proxy: Gateway
  const authwire = useAuthwire("sqlite", { keys: false, env })
  beforeAll(async () => {
    client = authwire.clientOf(operator)
    application = await startApplication()
    proxy = await kind.start({ authwire: authwire.server, apiKey: key.text, applicationPort: application.port })
  })
  afterAll(async () => {
    await proxy?.stop()
    application?.close()
  })

  /** Creates a signed-in user. Returns its headers, and those with which the application is told the user. */
  const signIn = async (user: { id?: string; role?: string; name?: string } = {}) => {
    const { id = crypto.randomUUID(), ...more } = user
    const email = `${crypto.randomUUID()}@example.com`
    const { id: userId } = await client.adapter.createUser({ id, email, emailVerified: null, ...more })
    const sessionToken = crypto.randomUUID()
    await client.adapter.createSession({ sessionToken, userId, expires: new Date(Date.now() + 3_600_000) })
    const { sessions } = await client.sessions.listSessions({ userId })
    const told = { "x-auth-user-id": [encodeURIComponent(userId)], "x-auth-session-id": [sessions[0]?.id] }
    return { userId, email, sessionToken, headers: [["cookie", `a=1; ${cookie}=${sessionToken}`] as const], told }
  }
  const ask = (one: Visit) => visit(proxy.url, one)
  /** Returns the requests that reached the application during `work`. */
  const arrivals = async (work: () => Promise<unknown>) => {
    const before = application.arrived.length
    await work()
    return application.arrived.slice(before).map(({ url }) => url)
  }

  test("a signed-in user is let through, and the application is told the user", async () => {
    const { headers, told: who, email } = await signIn()
    expect(told(await ask({ headers }))).toEqual({ ...who, "x-auth-email": [email] })
    expect(told(await ask({ path: "/public/x", headers }))).toMatchObject(who)
  })

  test("a request without a session is not let through", async () => {
    const expired = await signIn()
    await client.sessions.updateSession({
      sessionToken: expired.sessionToken,
      expires: { seconds: 1n, nanos: 0 },
      updateMask: { paths: ["expires"] },
    })
    const jwt = await client.jwt.encode({ token: { sub: "1" }, salt: cookie, secret: "", maxAge: -3600 })
    const strangers: NonNullable<Visit["headers"]>[] = [
      [],
      expired.headers,
      [["cookie", `${cookie}=nonsense`]],
      [["cookie", `${cookie}=${jwt}`]],
      [["authorization", "Bearer nonsense"]],
      [["authorization", `Bearer ${operator.text}`]],
      [["x-api-key", operator.text]],
      forged,
    ]
    const arrived = await arrivals(async () => {
      for (const headers of strangers) {
        for (const [path, method] of [
          ["/", "GET"],
          ["/", "POST"],
          ["/admin/x", "DELETE"],
        ] as const) {
          const { status, headers: answered } = await ask({ path, method, headers })
          expect([path, method, headers, status]).toEqual([path, method, headers, 401])
          expect(answered["www-authenticate"]).toBe("Bearer")
        }
      }
    })
    expect(arrived).toEqual([])
  })

  test("a browser that requests a page is sent to the sign-in page, with the URL to return to", async () => {
    const path = "/deep/page?a=1&b=%26&callbackUrl=https://evil.example"
    const { status, headers } = await ask({ path, headers: [page, ["host", "app.example.com"], ...forgedTarget] })
    expect(status).toBe(302)
    expect(headers["cache-control"]).toBe("no-store")
    const at = new URL(headers.location as string, "http://app.example.com")
    expect(at.pathname).toBe("/api/auth/signin")
    expect([...at.searchParams]).toEqual([["callbackUrl", `http://app.example.com${path}`]])
    expect((await ask({ method: "POST", headers: [page] })).status).toBe(401)
    expect((await ask({ headers: [["accept", "application/json"]] })).status).toBe(401)
  })

  test("the cookies of a large JWT arrive, and those that are too large are not taken for an outage", async () => {
    const jwtOf = async (bytes: number) => {
      const token = { sub: "7", padding: "x".repeat(bytes) }
      const jwt = await client.jwt.encode({ token, salt: cookie, secret: "" })
      return [
        ["cookie", (jwt.match(/.{1,3936}/g) ?? []).map((one, at) => `${cookie}.${at}=${one}`).join("; ")] as const,
      ]
    }
    for (const bytes of [15_000, 30_000]) {
      const headers = await jwtOf(bytes)
      expect(headers[0]?.[1].length).toBeGreaterThan((bytes * 4) / 3)
      expect(told(await ask({ headers }))).toMatchObject({ "x-auth-user-id": ["7"] })
    }
    expect([400, 431]).toContain((await ask({ headers: await jwtOf(45_000) })).status)
  })

  test("a CORS preflight request is forwarded if the route says so", async () => {
    const settings =
      kind.name === "nginx"
        ? ["?roles=admin", "?preflight=forward&roles=admin"]
        : ["roles: admin,", "preflight: forward, roles: admin,"]
    const changes = [settings as [string, string]]
    const forwarding = await kind.start({
      authwire: authwire.server,
      apiKey: key.text,
      applicationPort: application.port,
      changes,
    })
    later(forwarding.stop)
    const headers = [...forged, ["origin", "https://a.example"], ["access-control-request-method", "PUT"]] as const
    const known = headers.filter(([name]) => kind.name !== "nginx" || name !== "x-auth-role")
    const preflight = { path: "/admin/x", method: "OPTIONS", headers: known }
    expect(told(await visit(forwarding.url, preflight))).toEqual({})
    expect((await visit(forwarding.url, { ...preflight, method: "PUT" })).status).toBe(401)
    expect((await ask(preflight)).status).toBe(401)
  })

  test("forged headers of a client never arrive, whatever the policy", async () => {
    const { headers, told: who, email } = await signIn()
    // nginx removes the headers that its configuration names. Other headers have no meaning to the application.
    const known = kind.name === "nginx" ? forged.filter(([name]) => name !== "x-auth-role") : forged
    const strangerAt = async (path: string) => told(await ask({ path, headers: known }))
    expect(await strangerAt("/public/x")).toEqual({})
    expect(await strangerAt("/api/auth/session")).toEqual({})
    expect(told(await ask({ headers: [...known, ...headers] }))).toEqual({ ...who, "x-auth-email": [email] })
    expect(told(await ask({ path: "/public/x", headers: [...headers, ...forged] }))).toMatchObject(who)
  })

  test("a signed assertion arrives if the route asks for it, and a client's never does", async () => {
    const args = ["--identity-issuer=https://authwire.example"]
    const own = await startServer({ databaseUrl: authwire.database.url, keys: false, env, args })
    later(() => own.stop())
    const changes: [string, string] =
      kind.name === "nginx"
        ? ["proxy=nginx&headers=", "proxy=nginx&identity=jwt&audience=orders&headers="]
        : [
            "sign_in: /api/auth/signin, headers:",
            "sign_in: /api/auth/signin, identity: jwt, audience: orders, headers:",
          ]
    const asking = await kind.start({
      ...{ authwire: own, apiKey: key.text, applicationPort: application.port, changes: [changes] },
    })
    later(asking.stop)
    const { headers, told: who } = await signIn()
    const all = [...headers, ["x-authwire-identity", "forged"], ["x_authwire_identity", "forged"]] as const
    const { "x-authwire-identity": identity, ...others } = told(await visit(asking.url, { headers: all }))
    expect(others).toMatchObject(who)
    expect(others).not.toHaveProperty("x_authwire_identity")
    const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", own.httpUrl))
    const { payload } = await jwtVerify(identity?.[0] ?? "", keys, { audience: "orders" })
    expect(payload.sub).toBe(decodeURIComponent(who["x-auth-user-id"][0] as string))
    expect(told(await visit(asking.url, { path: "/public/x", headers: all }))).not.toHaveProperty("x-authwire-identity")
  })

  test("no spelling of a path bypasses the check", async () => {
    const { headers } = await signIn()
    const paths = [
      ...["//admin/x", "/./admin/x", "/public/../admin/x", "/public/%2e%2e/admin/x", "/public/..%2fadmin/x"],
      ...["/public/%2E%2E%2Fadmin/x", "/public/x/..//../admin/x", "/admin/../public/x", "/admin//../public/x"],
      ...["/admin%2f..%2fpublic/x", "/admin/%2e%2e/public/x", "/admin/x/..%2f..%2fpublic/x"],
    ]
    for (const path of paths) {
      const arrived = await arrivals(async () => {
        const { status } = await ask({ path, headers })
        expect([path, [200, 400, 403].includes(status), status]).toEqual([path, true, status])
      })
      // A request that is passed on has the path that was checked, which cannot be interpreted in another way.
      for (const url of arrived) expect([path, url]).toEqual([path, expect.stringMatching(/^\/public\/(admin\/)?x$/)])
    }
  })

  test("an outage rejects every request, is reported, and ends", async () => {
    const { headers } = await signIn()
    const args = [`--grpc-addr=127.0.0.1:${await freePort()}`, `--http-addr=127.0.0.1:${await freePort()}`]
    const own = await startServer({ databaseUrl: authwire.database.url, keys: false, env, args })
    const behind = await kind.start({ authwire: own, apiKey: key.text, applicationPort: application.port })
    later(behind.stop)
    const askOwn = (one: Visit) => visit(behind.url, one)
    expect((await askOwn({ headers })).status).toBe(200)
    await own.stop()
    const arrived = await arrivals(async () => {
      for (const path of ["/", "/public/x", "/admin/x"]) {
        for (const one of [headers, [page], forged]) {
          expect([path, (await askOwn({ path, headers: one })).status]).toEqual([path, 503])
        }
      }
    })
    expect(arrived).toEqual([])
    const again = await startServer({ databaseUrl: authwire.database.url, keys: false, env, args })
    later(() => again.stop())
    await until(async () => (await askOwn({ headers })).status === 200)
  })

  test.each([
    ["a key that is none", staticKey(["all"]).text],
    ["a key without the scope", "other"],
  ])("%s lets nobody in, and does not look like a request without a session", async (_, text) => {
    const { headers } = await signIn()
    const other = staticKey(["sessions:read"])
    const own = await startServer({
      databaseUrl: authwire.database.url,
      keys: false,
      env: { AUTHWIRE_API_KEYS: JSON.stringify([other.entry]) },
    })
    later(() => own.stop())
    const apiKey = text === "other" ? other.text : text
    const behind = await kind.start({ authwire: own, apiKey, applicationPort: application.port })
    later(behind.stop)
    const arrived = await arrivals(async () => {
      for (const path of ["/", "/public/x"]) {
        for (const one of [headers, [page], [...headers, ["x-api-key", operator.text] as const]]) {
          expect([path, (await visit(behind.url, { path, headers: one })).status]).toEqual([path, 503])
        }
      }
    })
    expect(arrived).toEqual([])
    expect(own.output() + behind.output()).not.toContain(apiKey)
  })

  test("no log contains a cookie, a token or an address", async () => {
    const { headers, sessionToken, email } = await signIn()
    await ask({ headers })
    await ask({ headers: [["authorization", `Bearer ${sessionToken}`]] })
    await until(() => authwire.server.log().includes("Authorization/Check"))
    // The secret is base64url, which may contain "_", so splitting the key at "_" could yield a single letter.
    const secretOfKey = key.text.slice(`awk_${key.id}_`.length)
    for (const secret of [sessionToken, email, secretOfKey]) {
      expect(authwire.server.output()).not.toContain(secret)
      expect(proxy.output()).not.toContain(secret)
    }
  })
}

for (const kind of kinds) {
  const isThere = kind.program !== undefined
  ;(isThere ? describe : describe.skip)(`behind ${kind.name}`, () => behind(kind))
}
