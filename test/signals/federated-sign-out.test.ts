import { createServer, type ServerResponse } from "node:http"
import { type AuthwireError, createAuthwireClient } from "@authwire/client"
import { federatedSignOut as forExpress } from "@authwire/client/express"
import { federatedSignOut as forNextjs } from "@authwire/client/nextjs"
import { AccountType } from "@authwire/proto"
import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { decodeJwt } from "jose"
import { providersFile } from "../provider-tokens/world.js"
import { clientId, type Issuer, startIssuer } from "./issuer.js"
import { client as application, type Browser, home, type RealProvider, startRealProvider } from "./real-provider.js"
import { type SignalWorld, startSignalWorld } from "./world.js"

const expires = timestampFromDate(new Date("2099-01-01T00:00:00Z"))

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase(serviceDatabase())
})
afterAll(() => database?.drop())

describe("at a real provider", () => {
  let world: RealProvider
  let client: ReturnType<typeof createAuthwireClient>
  beforeAll(async () => {
    world = await startRealProvider(database)
    client = createAuthwireClient({ url: world.authwire.grpcUrl, apiKey: world.authwire.apiKey })
  })
  afterAll(async () => {
    client?.close()
    await world?.stop()
  })

  const tokenOf = (browser: Browser) => browser.application.get(sessionCookie) ?? ""
  /** Whether the provider signs in without asking anything. */
  async function isSignedInAtProvider(browser: Browser): Promise<boolean> {
    const url = new URL("/auth", world.issuer)
    const asked = { response_type: "code", scope: "openid", prompt: "none", client_id: application.id }
    const pkce = { code_challenge: "x".repeat(43), code_challenge_method: "S256" }
    const redirect = { redirect_uri: "http://127.0.0.1/auth/callback/idp" }
    url.search = new URLSearchParams({ ...asked, ...pkce, ...redirect }).toString()
    const back = new URL((await world.visitProvider(browser, url.href)).headers.get("location") ?? "")
    return back.searchParams.has("code")
  }

  describe.each([
    ["Next.js", forNextjs],
    ["Express", forExpress],
  ])("%s", (_, federatedSignOut) => {
    test("the session ends here, and at the address that of the provider, which sends the browser back", async () => {
      const browser = await world.signIn()
      expect((await world.session(browser))?.user?.email).toBe("ada@example.com")
      expect(await isSignedInAtProvider(browser)).toBe(true)
      const { session } = await client.sessions.getSessionAndUser({ sessionToken: tokenOf(browser) })
      const { session: { providerSessionId } = {} } = await client.sessions.getSession({ id: session?.id ?? "" })

      const options = { client, postLogoutRedirectUri: home }
      const address = new URL((await federatedSignOut({ sessionToken: tokenOf(browser) }, options)) ?? "")
      expect(address.href.startsWith(`${world.issuer}/session/end?`)).toBe(true)
      const { id_token_hint: hint = "", ...rest } = Object.fromEntries(address.searchParams)
      expect(rest).toEqual({ client_id: application.id, post_logout_redirect_uri: home })
      expect(decodeJwt(hint)).toMatchObject({ sub: "ada", aud: application.id, sid: providerSessionId })
      expect(await database.query("SELECT id FROM sessions WHERE id = ?", [session?.id])).toEqual([])
      expect(await world.session(browser)).toBeNull()

      expect(await isSignedInAtProvider(browser)).toBe(true)
      expect(await world.signOutAtProvider(browser, address.href)).toBe(home)
      expect(await isSignedInAtProvider(browser)).toBe(false)
    })
  })

  test("a browser that signed in earlier than another one sends no ID token of the other's session", async () => {
    const [earlier, later] = [await world.signIn(), await world.signIn()]
    const options = { client, postLogoutRedirectUri: home }
    const address = (await forNextjs({ sessionToken: tokenOf(earlier) }, options)) ?? ""
    const params = { client_id: application.id, post_logout_redirect_uri: home }
    expect(Object.fromEntries(new URL(address).searchParams)).toEqual(params)
    expect(await world.signOutAtProvider(earlier, address)).toBe(home)
    expect([await isSignedInAtProvider(earlier), await isSignedInAtProvider(later)]).toEqual([false, true])
    expect((await world.session(later))?.user?.email).toBe("ada@example.com")
  })
})

describe("what the address has, and when there is none", () => {
  let issuer: Issuer
  let world: SignalWorld
  beforeAll(async () => {
    issuer = await startIssuer()
    world = await startSignalWorld(database, issuer)
  })
  afterAll(async () => {
    await world?.stop()
    issuer?.close()
  })

  /** Begins a session of a user who has an account with each of the ID tokens at the provider. */
  async function begin(at: { provider?: string; sid?: string | undefined; idTokens?: string[] } = {}) {
    const { provider = "idp", sid, idTokens = [] } = at
    const [userId, sessionToken] = [crypto.randomUUID(), crypto.randomUUID()]
    await world.client.users.createUser({ id: userId })
    for (const idToken of idTokens) {
      const account = { userId, provider, providerAccountId: crypto.randomUUID(), type: AccountType.OIDC }
      await world.client.accounts.linkAccount({ ...account, accessToken: "a", idToken })
    }
    await world.client.sessions.createSession({ sessionToken, userId, expires, provider, providerSessionId: sid })
    return sessionToken
  }
  const exists = async (sessionToken: string) =>
    world.client.sessions.getSessionAndUser({ sessionToken }).then(
      () => true,
      ({ reason }) => reason !== "SESSION_NOT_FOUND",
    )
  const discoveries = () => issuer.asked.filter((path) => path === "/.well-known/openid-configuration").length

  test("an issuer that cannot be asked: the user is signed out here, and it is asked again only after a pause", async () => {
    issuer.isUp = false
    for (const _ of ["first", "again"]) {
      const sessionToken = await begin()
      expect(await forNextjs({ sessionToken }, { client: world.client })).toBeUndefined()
      expect(await exists(sessionToken)).toBe(false)
    }
    expect(discoveries()).toBe(1)
    const failed = world.client.sessions.getLogoutUrl({ sessionToken: await begin() })
    await expect(failed).rejects.toMatchObject({ reason: "PROVIDER_UNAVAILABLE", metadata: { failure: "paused" } })
    issuer.isUp = true
  })

  test("an issuer without an endpoint, or with one that is no web address: no address", async () => {
    for (const [provider, metadata] of [
      ["disabling", {}],
      ["unlinking", { end_session_endpoint: "javascript:alert(1)" }],
    ] as const) {
      issuer.metadata = metadata
      const sessionToken = await begin({ provider, idTokens: [await issuer.sign({})] })
      expect([provider, await forNextjs({ sessionToken }, { client: world.client })]).toEqual([provider, undefined])
      expect(await exists(sessionToken)).toBe(false)
    }
  })

  test("a provider that the file does not name, a session that has ended, and a JWT: no address", async () => {
    const elsewhere = await begin({ provider: "elsewhere" })
    for (const sessionToken of [elsewhere, elsewhere, "eyJhbGciOiJkaXIifQ..a.b.c"]) {
      expect(await forNextjs({ sessionToken }, { client: world.client })).toBeUndefined()
      expect(await exists(sessionToken)).toBe(false)
    }
  })

  test("the hint is the one ID token of this client and of the provider's session, and not too long", async () => {
    issuer.metadata = { end_session_endpoint: `${issuer.issuer}/end?theme=dark` }
    const hintOf = async (sid: string | undefined, ...claims: object[]) => {
      const idTokens = await Promise.all(claims.map((one) => issuer.sign({ sub: "s", ...one })))
      const sessionToken = await begin({ provider: "silent", sid, idTokens })
      const { url = "" } = await world.client.sessions.getLogoutUrl({ sessionToken })
      const { id_token_hint: hint, ...rest } = Object.fromEntries(new URL(url).searchParams)
      expect(rest).toEqual({ theme: "dark", client_id: clientId })
      return hint === undefined ? undefined : idTokens.indexOf(hint)
    }
    const before = discoveries()
    expect(await hintOf("one")).toBeUndefined()
    expect(await hintOf("one", { sid: "one" })).toBe(0)
    expect(await hintOf("one", { sid: "two" }, { sid: "one" }, {})).toBe(1)
    expect(await hintOf("one", {})).toBeUndefined()
    expect(await hintOf(undefined, {})).toBe(0)
    expect(await hintOf(undefined, { sid: "one" })).toBeUndefined()
    expect(await hintOf(undefined, {}, {})).toBeUndefined()
    expect(await hintOf("one", { sid: "one", aud: "another" })).toBeUndefined()
    expect(await hintOf("one", { sid: "one", groups: "g".repeat(6_000) })).toBeUndefined()
    expect(discoveries() - before).toBe(1)
  })

  test("the sign-in of a JWT session has the same address, and the sessions of the user go on", async () => {
    issuer.metadata = { end_session_endpoint: `${issuer.issuer}/end` }
    const [idToken, client] = [await issuer.sign({ sub: "s", sid: "one" }), world.client]
    const sessionToken = await begin({ provider: "silent", sid: "one", idTokens: [idToken] })
    const { session: { userId = "" } = {} } = await client.sessions.getSessionAndUser({ sessionToken })
    for (const [providerSessionId, hint] of [
      ["one", idToken],
      ["two", null],
      [undefined, null],
    ] as const) {
      const address = await forNextjs({ userId, provider: "silent", providerSessionId }, { client })
      expect(new URL(address ?? "").searchParams.get("id_token_hint")).toBe(hint)
    }
    expect(await forNextjs({ userId, provider: "elsewhere" }, { client })).toBeUndefined()
    expect(await exists(sessionToken)).toBe(true)
    const signIn = { userId, provider: "silent" }
    for (const request of [{}, { sessionToken, signIn }, { signIn: { userId } }])
      await expect(client.sessions.getLogoutUrl(request)).rejects.toMatchObject({ reason: "INVALID_FIELD" })
  })

  test("a redirect that is no web address is refused, and the user is signed out", async () => {
    for (const postLogoutRedirectUri of ["javascript:alert(1)", "/home", "", "https://", "app:/home"]) {
      const sessionToken = await begin()
      const signedOut = forNextjs({ sessionToken }, { client: world.client, postLogoutRedirectUri })
      await expect(signedOut).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
        fieldViolations: expect.arrayContaining([expect.objectContaining({ field: "post_logout_redirect_uri" })]),
      })
      expect(await exists(sessionToken)).toBe(false)
    }
  })
})

test("an issuer that does not answer holds no user up, and a key that may not read accounts gets no ID token", async () => {
  const held: ServerResponse[] = []
  const silent = createServer((_request, response) => void held.push(response))
  const issuer = `http://127.0.0.1:${await listen(silent)}`
  const entry = { token_endpoint: `${issuer}/token`, issuer, client_id: clientId, auth_method: "none" }
  const file = providersFile({ default: { idp: { ...entry, timeout_seconds: 30 } } })
  const keys = [staticKey(["all"]), staticKey(["sessions:read", "sessions:write"])] as const
  const server = await startServer({ databaseUrl: database.url, keys, args: [`--providers-file=${file}`] })
  const as = ({ text: apiKey }: (typeof keys)[number]) => createAuthwireClient({ url: server.grpcUrl, apiKey })
  const [all, sessionsOnly] = [as(keys[0]), as(keys[1])]
  try {
    const userId = crypto.randomUUID()
    await all.users.createUser({ id: userId })
    const signOut = async (client: typeof all) => {
      const sessionToken = crypto.randomUUID()
      await all.sessions.createSession({ sessionToken, userId, expires, provider: "idp" })
      const answer = await forNextjs({ sessionToken }, { client }).catch((error: AuthwireError) => error.reason)
      const found = all.sessions.getSessionAndUser({ sessionToken })
      await expect(found).rejects.toMatchObject({ reason: "SESSION_NOT_FOUND" })
      return answer
    }
    expect(await signOut(sessionsOnly)).toBe("SCOPE_MISSING")
    expect(held).toHaveLength(0)
    expect(await signOut(all)).toBeUndefined()
    // The issuer still has the request, and one only.
    expect(held.map(({ closed }) => closed)).toEqual([false])
  } finally {
    for (const client of [all, sessionsOnly]) client.close()
    silent.closeAllConnections()
    silent.close()
    await server.stop()
  }
})
