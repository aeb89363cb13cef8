import { createHmac } from "node:crypto"
import { once } from "node:events"
import { request } from "node:http"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { generateKeyPair } from "jose"
import { apple, clientId, event, type Issuer, logout, startIssuer } from "./issuer.js"
import { type SignalWorld, signIn, startSignalWorld } from "./world.js"

// A real service, and an issuer with keys of its own that signs the documented forms of the standards, of Google and of Apple.
const target = serviceDatabase()
let issuer: Issuer
let database: TestDatabase
let world: SignalWorld
beforeAll(async () => {
  database = await createDatabase(target)
  issuer = await startIssuer()
  world = await startSignalWorld(database, issuer, ["--audit-store=database"])
})
afterAll(async () => {
  await world.stop()
  issuer.close()
  await database.drop()
})

/** The subject of an event about an account. */
const of = (sub: string) => ({ subject_type: "iss-sub", iss: issuer.issuer, sub })

const minute = 60
const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1000) - seconds

describe("S-57 what a provider states", () => {
  test("a logout with sid ends the session that began in it, and no other; without a match nothing", async () => {
    const user = await signIn(world.client)
    const token = await issuer.sign(logout({ sid: `one ${user.userId}`, sub: user.sub }), { typ: "logout+jwt" })
    const response = await world.logout(token)
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"])
    expect(await user.sids()).toEqual(["other", "two"])
    expect((await world.logout(await issuer.sign(logout({ sid: "unknown", sub: user.sub })))).status).toBe(200)
    expect(await user.sids()).toEqual(["other", "two"])
    expect(await user.account()).toMatchObject({ refreshToken: "r" })
  })

  test.each([
    ["a logout without sid", (sub: string) => logout({ sub }), "logout", "logout"],
    [
      "RISC sessions-revoked",
      (sub: string) => event("risc.sessions-revoked", of(sub)),
      "push",
      "risc.sessions-revoked",
    ],
    [
      "CAEP session-revoked, by RFC 9493",
      (sub: string) => ({
        ...event("caep.session-revoked"),
        sub_id: { format: "iss_sub", iss: issuer.issuer, sub },
      }),
      "push",
      "caep.session-revoked",
    ],
  ] as const)(
    "%s ends the user's sessions of the provider, and drops a refresh token",
    async (_, claims, way, signal) => {
      for (const scope of ["openid", "openid offline_access"]) {
        const user = await signIn(world.client, { scope })
        const token = await issuer.sign({
          ...claims(user.sub),
          ...(way === "push" && withoutSubject(claims(user.sub))),
        })
        expect((await world[way](token)).status).toBe(way === "push" ? 202 : 200)
        expect(await user.sids()).toEqual(["other"])
        const isOffline = scope !== "openid"
        expect(await user.account()).toMatchObject({ accessToken: "a", refreshToken: isOffline ? "r" : undefined })
        // Entries are written in batches, so the newest one need not be that of the last call.
        const ofSignal = async () => {
          const filter = { case: "userId", value: user.userId } as const
          const { entries } = await world.client.audit.listAuditEntries({ filter })
          return entries.find(({ method }) => method === "authwire.v1.SignalService/ReceiveSignal")
        }
        await until(async () => (await ofSignal()) !== undefined)
        expect(await ofSignal()).toMatchObject({ fields: { signal, provider: "idp" } })
      }
    },
  )

  test("CAEP session-revoked with a session ends that session", async () => {
    const user = await signIn(world.client)
    const session = { format: "opaque", id: `two ${user.userId}` }
    const subject = { format: "complex", user: { format: "iss_sub", iss: issuer.issuer, sub: user.sub }, session }
    expect((await world.push(await issuer.sign(event("caep.session-revoked", subject)))).status).toBe(202)
    expect(await user.sids()).toEqual(["one", "other"])
  })

  test.each(["oauth.tokens-revoked", "oauth.token-revoked"])(
    "%s drops the tokens, and a refresh is refused until a new sign-in",
    async (type) => {
      const user = await signIn(world.client)
      expect((await world.push(await issuer.sign(event(type, of(user.sub)), { typ: "secevent+jwt" }))).status).toBe(202)
      expect(await user.sids()).toEqual(["one", "other", "two"])
      const none = { accessToken: undefined, refreshToken: undefined, idToken: undefined }
      expect(await user.account()).toMatchObject(none)
      const get = () => world.client.accounts.getAccessToken({ userId: user.userId, provider: "idp" })
      await expect(get()).rejects.toMatchObject({ reason: "REFRESH_REFUSED" })
      await user.link("idp")
      expect((await get()).accessToken).toBe("a")
    },
  )

  describe.each([
    ["risc.account-disabled", "push"],
    ["risc.account-purged", "push"],
    ["apple.consent-revoked", "notify"],
    ["apple.account-delete", "notify"],
  ] as const)("%s", (type, way) => {
    const end = async (sub: string, provider: string) => {
      const claims = way === "push" ? event(type, of(sub)) : apple(type.replace("apple.", ""), sub)
      expect((await world[way](await issuer.sign(claims), provider)).status).toBe(way === "push" ? 202 : 200)
    }

    test("by default ends the sessions of the provider and drops the tokens", async () => {
      const user = await signIn(world.client)
      await end(user.sub, "idp")
      expect(await user.sids()).toEqual(["other"])
      expect(await user.account()).toMatchObject({ accessToken: undefined, refreshToken: undefined })
    })

    test("disables the user, if the file says so", async () => {
      const user = await signIn(world.client, { provider: "disabling" })
      await end(user.sub, "disabling")
      expect(await user.sids()).toEqual([])
      const { user: stored } = await world.client.users.getUser({ id: user.userId })
      expect(stored?.disabled?.reason).toBe(`disabling: ${type}`)
    })

    test("unlinks the account, if the file says so", async () => {
      const user = await signIn(world.client, { provider: "unlinking" })
      await end(user.sub, "unlinking")
      expect(await user.sids()).toEqual([])
      await expect(user.account()).rejects.toMatchObject({ reason: "ACCOUNT_NOT_FOUND" })
    })
  })

  test.each([
    ["risc.account-enabled", of],
    ["risc.account-credential-change-required", of],
    ["ssf.verification", () => ({ format: "opaque", id: "stream" })],
    ["caep.device-compliance-change", of],
    ["oauth.token-revoked", () => ({ subject_type: "oauth_token", token_type: "refresh_token", token: "x" })],
    ["risc.account-purged", () => ({ subject_type: "email", email: "ada@example.com" })],
    ["risc.account-purged", (sub: string) => ({ subject_type: "iss-sub", iss: "https://other.example", sub })],
  ])("%s that demands nothing, or of an unknown subject, is answered, and nothing else (%#)", async (type, subject) => {
    const user = await signIn(world.client)
    expect((await world.push(await issuer.sign(event(type, subject(user.sub))))).status).toBe(202)
    expect(await user.sids()).toEqual(["one", "other", "two"])
    expect(await user.account()).toMatchObject({ accessToken: "a", refreshToken: "r" })
  })

  test("has its effect once, however often it is delivered", async () => {
    const user = await signIn(world.client)
    const token = await issuer.sign(event("risc.sessions-revoked", of(user.sub)))
    const rows = () =>
      database.query("SELECT kind FROM events WHERE user_id = ?", [
        target === "postgres" || target === "sqlite" ? user.userId : Buffer.from(user.userId),
      ])
    const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await world.push(token)).status))
    expect(statuses).toEqual(Array(8).fill(202))
    const kinds = (await rows()).map(({ kind }) => String(kind))
    expect(kinds.filter((kind) => kind === "user.sessions_revoked")).toHaveLength(1)
    await user.begin("three")
    expect((await world.push(token)).status).toBe(202)
    expect(await user.sids()).toEqual(["other", "three"])
  })

  test("passes through an application as well, with a key", async () => {
    const user = await signIn(world.client)
    const token = await issuer.sign(logout({ sub: user.sub }))
    const received = await world.client.signals.receiveSignal({ provider: "idp", token })
    expect(received).toMatchObject({ signal: "logout", userId: user.userId, revokedSessions: 2n, duplicate: false })
    const again = await world.client.signals.receiveSignal({ provider: "idp", token })
    expect(again).toMatchObject({ signal: "logout", revokedSessions: 0n, duplicate: true })
  })
})

/** A token without the claim `sub`, whose subject stands in the event. */
const withoutSubject = (claims: object) => ({ ...claims, sub: undefined })

describe("S-58 a token that is not one of the provider for this client", () => {
  let sub: string
  let sids: () => Promise<string[]>
  beforeAll(async () => {
    const user = await signIn(world.client)
    sub = user.sub
    sids = user.sids
  })

  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url")
  const claims = () => ({
    ...logout({ sub }),
    ...{ iss: issuer.issuer, aud: clientId, iat: secondsAgo(0), jti: crypto.randomUUID() },
  })
  const hs256 = (secret: string) => {
    const text = `${encoded({ alg: "HS256", kid: issuer.jwk.kid })}.${encoded(claims())}`
    return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`
  }
  const pem = () => JSON.stringify(issuer.jwk)
  const foreignKey = async () => (await generateKeyPair("ES256")).privateKey
  const changed = async (change: (parts: string[]) => void) => {
    const parts = (await issuer.sign(claims())).split(".")
    change(parts)
    return parts.join(".")
  }

  const wrong: readonly (readonly [string, () => string | Promise<string>, string?])[] = [
    ["alg none", () => `${encoded({ alg: "none" })}.${encoded(claims())}.`],
    ["alg None, with a signature", () => `${encoded({ alg: "None" })}.${encoded(claims())}.x`],
    ["HS256 with the public key", () => hs256(pem())],
    ["HS256 with an empty key", () => hs256("")],
    ["the signature of another key", async () => issuer.sign(claims(), {}, await foreignKey())],
    ["a key in its own header", async () => issuer.sign(claims(), { jwk: issuer.jwk }, await foreignKey())],
    [
      "keys at its own address",
      async () => issuer.sign(claims(), { jku: `${issuer.issuer}/other` }, await foreignKey()),
    ],
    ["a changed claim", () => changed((parts) => parts.splice(1, 1, encoded({ ...claims(), sub })))],
    [
      "a changed header",
      () => changed((parts) => parts.splice(0, 1, encoded({ alg: "ES256", kid: issuer.jwk.kid, x: 1 }))),
    ],
    ["no signature", () => changed((parts) => parts.splice(2, 1, ""))],
    ["an unknown critical header", () => issuer.sign(claims(), { crit: ["x"], x: 1 }).catch(() => "x.y.z")],
    ["an unknown key", () => issuer.sign(claims(), { kid: "unknown" })],
    ["another issuer", () => issuer.sign({ ...claims(), iss: "https://other.example" }), "iss"],
    ["the issuer as a prefix", () => issuer.sign({ ...claims(), iss: `${issuer.issuer}.example` }), "iss"],
    ["no issuer", () => issuer.sign({ ...claims(), iss: undefined }), "iss"],
    ["a foreign audience", () => issuer.sign({ ...claims(), aud: "other" }), "aud"],
    ["foreign audiences", () => issuer.sign({ ...claims(), aud: ["other", "another"] }), "aud"],
    ["no audience", () => issuer.sign({ ...claims(), aud: undefined }), "aud"],
    ["a nonce", () => issuer.sign({ ...claims(), nonce: "n" })],
    ["a nonce that is null", () => issuer.sign({ ...claims(), nonce: null })],
    ["a time of issue that is too old", () => issuer.sign({ ...claims(), iat: secondsAgo(13 * 60 * minute) })],
    ["a time of issue in the future", () => issuer.sign({ ...claims(), iat: secondsAgo(-10 * minute) })],
    ["no time of issue", () => issuer.sign({ ...claims(), iat: undefined })],
    ["an end that has passed", () => issuer.sign({ ...claims(), exp: secondsAgo(2 * minute) })],
    ["a beginning in the future", () => issuer.sign({ ...claims(), nbf: secondsAgo(-10 * minute) })],
    ["no id", () => issuer.sign({ ...claims(), jti: undefined })],
    ["an id that is no text", () => issuer.sign({ ...claims(), jti: 7 })],
    ["neither sub nor sid", () => issuer.sign({ ...claims(), sub: undefined })],
    ["a sub that is no text", () => issuer.sign({ ...claims(), sub: 7 })],
    ["no events: an ID token", () => issuer.sign({ ...claims(), events: undefined })],
    ["events that are empty", () => issuer.sign({ ...claims(), events: {} })],
    ["an event that is no object", () => issuer.sign({ ...claims(), events: { [logoutType]: true } })],
    ["the type of another token", () => issuer.sign(claims(), { typ: "at+jwt" })],
    ["the type of an event", () => issuer.sign(claims(), { typ: "secevent+jwt" })],
    ["no token", () => "x"],
    ["another token as well", async () => `${await issuer.sign(claims())}.${await issuer.sign(claims())}`],
  ]
  const logoutType = "http://schemas.openid.net/event/backchannel-logout"

  test.each(wrong)("with %s is refused without effect", async (...[, make, claim]) => {
    const token = await make()
    for (const provider of ["idp", "disabling"]) {
      const response = await world.logout(token, provider)
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: "invalid_request", error_description: expect.any(String) },
      ])
    }
    const pushed = await world.push(token)
    const err = claim === "iss" ? "invalid_issuer" : claim === "aud" ? "invalid_audience" : /^invalid_(request|key)$/
    expect(await pushed.json()).toEqual({ err: expect.stringMatching(err), description: expect.any(String) })
    expect([pushed.status, pushed.headers.get("cache-control")]).toEqual([400, "no-store"])
    const call = world.client.signals.receiveSignal({ provider: "idp", token })
    await expect(call).rejects.toMatchObject({ reason: "SIGNAL_REFUSED" })
    expect(await sids()).toEqual(["one", "other", "two"])
  })

  test("that was received before is refused without effect, also under the name of another token", async () => {
    const user = await signIn(world.client)
    const jti = crypto.randomUUID()
    expect((await world.logout(await issuer.sign(logout({ sub: "nobody", jti })))).status).toBe(200)
    const again = await issuer.sign(logout({ sub: user.sub, jti }))
    expect((await world.logout(again)).status).toBe(400)
    expect(await user.sids()).toEqual(["one", "other", "two"])
  })

  test("to a provider that accepts no signals, another tenant, or in another form is not read", async () => {
    const token = await issuer.sign(claims())
    expect((await world.logout(token, "silent")).status).toBe(404)
    expect((await world.logout(token, "unknown")).status).toBe(404)
    const call = world.client.signals.receiveSignal({ provider: "silent", token })
    await expect(call).rejects.toMatchObject({ reason: "PROVIDER_NOT_CONFIGURED" })
    const { httpUrl } = world.server
    const body = new URLSearchParams({ logout_token: token })
    expect((await fetch(`${httpUrl}/v1/signals/other/idp`, { method: "POST", body })).status).toBe(404)
    expect((await fetch(`${httpUrl}/v1/signals/default/idp`)).status).toBe(405)
    expect((await world.post("text/plain", token)).status).toBe(415)
    expect((await world.post("application/x-www-form-urlencoded", `${body}&${body}`)).status).toBe(400)
    expect((await world.post("application/json", JSON.stringify({ payload: [token] }))).status).toBe(400)
    expect(await sids()).toEqual(["one", "other", "two"])
  })

  test("that is huge is not read to its end", async () => {
    expect((await world.push("x".repeat(16 * 1024 + 1))).status).toBe(413)
    const sent = request(`${world.server.httpUrl}/v1/signals/default/idp`, {
      method: "POST",
      headers: { "content-type": "application/secevent+jwt", "transfer-encoding": "chunked" },
    })
    const ended = once(sent, "error")
    for (let chunk = 0; chunk < 5; chunk++) sent.write("x".repeat(4096))
    // The service does not wait for the end of the request.
    expect(await ended).toMatchObject([{ code: expect.stringMatching(/^(ECONNRESET|EPIPE)$/) }])
  })
})

describe("S-59 the keys of a provider", () => {
  test("are asked for at most once a minute, whatever unknown keys the tokens name", async () => {
    const own = await startIssuer()
    const other = await startSignalWorld(database, own)
    try {
      expect((await other.logout(await own.sign(logout({ sub: "nobody" })))).status).toBe(200)
      await own.rotate()
      const known = own.asked.length
      const flood = async () =>
        (await other.logout(await own.sign(logout({ sub: "x" }), { kid: crypto.randomUUID() }))).status
      const statuses = await Promise.all(Array.from({ length: 100 }, flood))
      expect(statuses).toEqual(Array(100).fill(400))
      expect(own.asked.length - known).toBeLessThanOrEqual(1)
    } finally {
      await other.stop()
      own.close()
    }
  })

  test("that cannot be read: the provider is told to try again, and few requests are made", async () => {
    const own = await startIssuer()
    own.isUp = false
    const other = await startSignalWorld(database, own)
    try {
      const send = async () => other.logout(await own.sign(logout({ sub: "x" })))
      const responses = await Promise.all(Array.from({ length: 50 }, send))
      expect(responses.map(({ status }) => status)).toEqual(Array(50).fill(503))
      expect(Number(responses[0]?.headers.get("retry-after"))).toBeGreaterThan(0)
      expect(own.asked.length).toBe(1)
    } finally {
      await other.stop()
      own.close()
    }
  })
})
