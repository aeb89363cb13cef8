import { describe, expect, test } from "@jest/globals"
import { type Outcome, outcomeOf } from "./token-answer.js"

// What each answer of a token endpoint means, and what is kept of it. A new oddity of a provider is one more line.
// test/provider-tokens/answers.test.ts sends some of them to two replicas.
const now = Date.UTC(2030, 0, 1, 0, 0, 0, 999)
const seconds = Math.floor(now / 1000)
const json = (body: unknown) => (typeof body === "string" ? body : JSON.stringify(body))
const read = (status: number, body: unknown, retryAfter: string | null = null): Outcome =>
  outcomeOf({ status, retryAfter, body: Buffer.from(json(body)) }, now)
const defined = (value: unknown) => JSON.parse(JSON.stringify(value))

const good = { access_token: "a2", token_type: "Bearer" }
const usual = { access_token: "a2", token_type: "bearer" }
const r2 = { refresh_token: "r2" }
const lasts = (lifetime: number) => ({ expires_in: lifetime, expires_at: seconds + lifetime })

describe("tokens", () => {
  test.each<[string, unknown, object]>([
    [
      "the usual",
      { ...good, ...r2, scope: "a b", expires_in: 300, session_state: "x" },
      { ...r2, scope: "a b", ...lasts(300) },
    ],
    ["an error that is null", { ...good, error: null, ...r2 }, r2],
    ["an empty error", { ...good, error: "", ...r2 }, r2],
    ["an error beside usable tokens", { ...good, error: "deprecated_scope", ...r2 }, r2],
    ["Slack: ok is true", { ok: true, ...good, ...r2, expires_in: 43_200 }, { ...r2, ...lasts(43_200) }],
    ["Strava: the expiry twice", { ...good, ...r2, ...lasts(21_600) }, { ...r2, ...lasts(21_600) }],
    ["Twitch: scopes as a list", { ...good, ...r2, scope: ["a", "b"] }, { ...r2, scope: "a b" }],
    [
      "GitHub: a form",
      "access_token=a2&expires_in=28800&refresh_token=r2&scope=&token_type=bearer",
      { ...r2, ...lasts(28_800) },
    ],
    [
      "B2C: numbers as digits, and expires_on",
      { ...good, ...r2, expires_on: String(seconds + 60), not_before: "1" },
      { ...r2, expires_at: seconds + 60 },
    ],
    ["a byte-order mark", `\ufeff${json({ ...good, ...r2 })}`, r2],
    ["white space around it", `\n ${json({ ...good, ...r2 })}\n`, r2],
    [
      "tokens that are numbers beyond 2^53",
      '{"access_token":12345678901234567890,"refresh_token":98765432109876543210}',
      { access_token: "12345678901234567890", refresh_token: "98765432109876543210" },
    ],
    ["an unknown token type", { ...good, token_type: "DPoP", ...r2 }, { token_type: "dpop", ...r2 }],
    ["a token type for every provider", { ...good, token_type: "mac" }, { token_type: "mac" }],
    ["no token type", { access_token: "a2" }, {}],
    ["a token type that is null", { ...good, token_type: null }, {}],
    ["a token type that is no text", { ...good, token_type: 7 }, {}],
    ["a refresh token that is null", { ...good, refresh_token: null }, {}],
    ["an empty refresh token", { ...good, refresh_token: "" }, {}],
    ["a refresh token that is too long to be stored", { ...good, refresh_token: "r".repeat(131_073) }, {}],
    ["scopes that are no texts", { ...good, scope: [1] }, {}],
    ["scopes that are too long to be stored", { ...good, scope: "s".repeat(16_385) }, {}],
  ])("%s", (_, body, tokens) => {
    for (const status of [200, 201, 203, 206]) {
      expect(defined(read(status, body))).toEqual({ kind: "tokens", tokens: { ...usual, ...tokens } })
    }
  })

  test.each<[string, object, number | undefined]>([
    ["a lifetime in seconds", { expires_in: 300 }, 300],
    ["a lifetime of digits", { expires_in: "300" }, 300],
    ["a lifetime with a fraction", { expires_in: 300.9 }, 300],
    ["a lifetime in milliseconds", { expires_in: 3_600_000_000 }, 3_600_000],
    ["a lifetime that is preferred to an expiry", { expires_in: 300, expires_at: 1 }, 300],
    ["an expiry in seconds", { expires_at: seconds + 60 }, 60],
    ["an expiry of digits", { expires_at: String(seconds + 60) }, 60],
    ["an expiry in milliseconds", { expires_at: (seconds + 60) * 1000 }, 60],
    ["an expiry in milliseconds of digits", { expires_on: String((seconds + 60) * 1000) }, 60],
    ["an expiry beside a lifetime that says nothing", { expires_in: "1 hour", expires_at: seconds + 60 }, 60],
    ["nothing", {}, undefined],
    ["null", { expires_in: null }, undefined],
    ["words", { expires_in: "1 hour" }, undefined],
    ["hexadecimal digits", { expires_in: "0x10" }, undefined],
    ["a power of ten", { expires_in: "1e3" }, undefined],
    ["an empty text", { expires_in: "" }, undefined],
    ["a date", { expires_at: "2030-01-01T01:00:00Z" }, undefined],
    ["a list", { expires_in: [300] }, undefined],
    ["too much", { expires_in: 1e300 }, undefined],
  ])("the expiry is read from %s", (_, members, lifetime) => {
    const outcome = read(200, { ...good, ...members })
    const expiry = outcome.kind === "tokens" ? outcome.tokens.expires_at : Number.NaN
    expect(expiry).toBe(lifetime === undefined ? undefined : seconds + lifetime)
  })

  test("a lifetime that JSON cannot represent: the expiry is unknown", () => {
    for (const lifetime of ["1e999", '"1e999"', '"Infinity"']) {
      const outcome = read(200, `{"access_token":"a2","token_type":"bearer","expires_in":${lifetime}}`)
      expect(defined(outcome)).toEqual({ kind: "tokens", tokens: usual })
    }
  })
})

test("a token that is not UTF-8 is no token, because its bytes would be changed", () => {
  const unreadable = read(200, "<html>")
  expect(unreadable.kind).toBe("unavailable")
  for (const body of [
    '{"access_token":"tok\xff","token_type":"bearer"}',
    "access_token=tok\xff",
    "access_token=tok%ff",
  ])
    expect(outcomeOf({ status: 200, retryAfter: null, body: Buffer.from(body, "latin1") }, now)).toEqual(unreadable)
  expect(read(200, "access_token=tok%C3%BF&scope=100%").kind).toBe("tokens")
})

describe("no usable access token", () => {
  const refused = (more: object = {}) => ({ kind: "refused", ...more })
  const unavailable = (failure: string, more: object = {}) => ({ kind: "unavailable", failure, ...more })
  const client = (code: string) => ({ kind: "client", code })

  test.each<[string, number | readonly number[], unknown, object]>([
    // The grant is rejected: trying again helps nobody.
    ["RFC 6749", [200, 400, 401, 403], { error: "invalid_grant" }, refused({ code: "invalid_grant" })],
    ["GitHub", 200, { error: "bad_refresh_token", error_description: "x" }, refused({ code: "bad_refresh_token" })],
    ["GitHub as a form", 200, "error=bad_refresh_token&error_uri=x", refused({ code: "bad_refresh_token" })],
    ["Slack", 200, { ok: false, error: "invalid_refresh_token" }, refused({ code: "invalid_refresh_token" })],
    ["an answer that is not ok, without a code", 200, { ok: false }, refused()],
    ["Twitch", 400, { error: "Bad Request", status: 400, message: "Invalid refresh token" }, refused()],
    ["Strava", 400, { message: "Bad Request", errors: [{ resource: "RefreshToken", code: "invalid" }] }, refused()],
    [
      "Facebook: an error that is an object",
      400,
      { error: { message: "x", type: "OAuthException", code: 190 } },
      refused({ code: "190" }),
    ],
    ["an object with a type", 200, { error: { type: "expired" } }, refused({ code: "expired" })],
    [
      "B2C and Entra",
      400,
      { error: "interaction_required", error_codes: [50076] },
      refused({ code: "interaction_required" }),
    ],
    ["login_required", 400, { error: "login_required" }, refused({ code: "login_required" })],
    ["consent_required", 400, { error: "consent_required" }, refused({ code: "consent_required" })],
    ["invalid_token", 401, { error: "invalid_token" }, refused({ code: "invalid_token" })],
    ["access_denied", 403, { error: "access_denied" }, refused({ code: "access_denied" })],
    ["a dead token as invalid_request", 400, { error: "invalid_request" }, refused({ code: "invalid_request" })],
    ["invalid_scope", 400, { error: "invalid_scope" }, refused({ code: "invalid_scope" })],
    ["JSON of its own", [400, 401, 403, 404, 422], { message: "token expired" }, refused()],
    ["a code with the names of objects", 400, { error: "constructor" }, refused({ code: "constructor" })],
    ["a message in place of a code", 400, { error: "your token r1 is bad" }, refused()],
    ["a long code", 400, { error: "e".repeat(100) }, refused({ code: "e".repeat(32) })],
    // The client is rejected.
    ["invalid_client", [200, 400, 401], { error: "invalid_client" }, client("invalid_client")],
    ["GitHub's invalid_client", 200, { error: "incorrect_client_credentials" }, client("incorrect_client_credentials")],
    ["unauthorized_client", 400, { error: "unauthorized_client" }, client("unauthorized_client")],
    // An outage: trying again helps.
    [
      "a status of an outage",
      [408, 425, 429, 500, 502, 503, 504, 599],
      { error: "invalid_grant" },
      unavailable("status", { code: "invalid_grant" }),
    ],
    ["a redirect", [302, 307], good, unavailable("status")],
    [
      "temporarily_unavailable",
      400,
      { error: "temporarily_unavailable" },
      unavailable("status", { code: "temporarily_unavailable" }),
    ],
    ["Slack's rate limit", 200, { ok: false, error: "ratelimited" }, unavailable("status", { code: "ratelimited" })],
    ["a page in place of an answer", [400, 403, 404], "<html>Forbidden</html>", unavailable("status")],
    ["a page, with success", 200, "<html>", unavailable("malformed")],
    ["JSON that ends too early", 200, '{"access_token":"a', unavailable("malformed")],
    ["nothing", [200, 204], "", unavailable("malformed")],
    ["null", 200, "null", unavailable("malformed")],
    ["a list", 200, [good], unavailable("malformed")],
    ["an object without tokens", 200, { token_type: "bearer" }, unavailable("malformed")],
    ["an access token that is an object", 200, { access_token: { a: 1 } }, unavailable("malformed")],
    ["an access token that is no Unicode", 200, '{"access_token":"\\ud800"}', unavailable("malformed")],
    ["an access token with U+0000", 200, { access_token: "a\0" }, unavailable("malformed")],
    [
      "an access token that is too long to be stored",
      200,
      { access_token: "a".repeat(131_073) },
      unavailable("malformed"),
    ],
    // What replaces the refresh token or the ID token is kept.
    ["only a refresh token", 200, r2, refused({ failure: "no_access_token", kept: r2 })],
    [
      "B2C without a scope: only an ID token",
      200,
      { id_token: "i2", ...r2 },
      refused({ failure: "no_access_token", kept: { id_token: "i2", ...r2 } }),
    ],
    [
      "an access token that cannot be stored",
      200,
      { access_token: "a\0", ...r2 },
      refused({ failure: "no_access_token", kept: r2 }),
    ],
    [
      "an error beside a refresh token",
      200,
      { error: "invalid_scope", ...r2 },
      refused({ code: "invalid_scope", kept: r2 }),
    ],
    [
      "a lifetime of zero",
      200,
      { ...good, ...r2, expires_in: 0 },
      unavailable("expired", { kept: { ...usual, ...r2, expires_in: 0, expires_at: seconds } }),
    ],
    [
      "a negative lifetime",
      200,
      { ...good, expires_in: "-1" },
      unavailable("expired", { kept: { ...usual, expires_in: 0, expires_at: seconds } }),
    ],
    [
      "an expiry in the past",
      200,
      { ...good, expires_at: 1 },
      unavailable("expired", { kept: { ...usual, expires_at: 1 } }),
    ],
    // Tokens of an error are not trusted: they may be a masked form of the one that was sent.
    ["tokens with a status of an error", 400, { error: "invalid_grant", ...r2 }, refused({ code: "invalid_grant" })],
  ])("%s (%j)", (_, statuses, body, expected) => {
    for (const status of [statuses].flat()) expect(defined(read(status, body))).toEqual({ status, ...expected })
  })

  test("the configuration of a provider gives its error codes another meaning", () => {
    const body = Buffer.from(json({ error: "weird" }))
    for (const kind of ["refused", "client", "unavailable"] as const) {
      expect(outcomeOf({ status: 400, retryAfter: null, body }, now, new Map([["weird", kind]])).kind).toBe(kind)
    }
    const usual = Buffer.from(json({ error: "invalid_client" }))
    const given = new Map([["invalid_client", "refused"]] as const)
    expect(outcomeOf({ status: 400, retryAfter: null, body: usual }, now, given).kind).toBe("refused")
  })

  test.each([
    ["seconds", "7", 7_000],
    ["more seconds than are sensible", "999999", 300_000],
    ["a date", new Date(now + 20_001).toUTCString(), 20_001 - 1_000 + 1],
    ["a date long ago", "Fri, 31 Dec 1999 23:59:59 GMT", undefined],
    ["a negative number", "-1", undefined],
    ["a word", "soon", undefined],
  ])("when to try again, by %s", (_, header, ms) => {
    const { retryAfterMs } = read(429, {}, header) as { retryAfterMs?: number }
    if (ms === undefined) expect(retryAfterMs).toBeUndefined()
    else expect(Math.abs((retryAfterMs as number) - ms)).toBeLessThan(1_000)
  })
})
