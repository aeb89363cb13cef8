import { describe, expect, test } from "@jest/globals"
import { failure } from "../test/failure.js"
import { createTokenModule, decode, encode, getToken, nextAuth4, sessionCookieName } from "./index.js"

// Tokens that next-auth 4.24.15 has issued; they are valid until 2090. test/next-auth-4 runs the real package.
const secret = "a secret of next-auth 4"
const issued = {
  session:
    "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..mX2YD_lcjWElQ8tq.r6s0LNAZnbpKoMyY5J_5IWRHJO3S3mD1Yly10q77Un0YiH8apzx_aOC_JmgDXjwPlyCP24Qm6l4P1EzHrJXd7qlaRlU-Ei8MykX4PwT6FzkxQOWDLx9AjvrH-Lu-c6yAlVyxxNS4sznxNA.cACj6xFJOCxlMVElSunKbg",
  /** That of an OAuth check, which next-auth 4 derives with the name of its cookie as the salt. */
  state:
    "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..U69r-GYw3QG7XUyc.szDzEVpVbJwzVIbGZ2E_clevlJ76EBPztWmrR5jGPwRLscI33xyBdORs9iSNKAVfGAjiyPZn_c942KDv3ss3tVdPB9JxWWVoNE_MhiZjabAlwMH6ejE-Enul2Zk.2sISYcHjeW7e_KP9sAbeYA",
}
const cookie = "next-auth.session-token"
const salt = cookie
const header = (token: string) => JSON.parse(Buffer.from(token.split(".", 1)[0] ?? "", "base64url").toString())

describe("nextAuth4.decode", () => {
  test("reads a token of next-auth 4 with any of the secrets, with and without a salt", async () => {
    for (const more of [{}, { salt: "" }, { salt }, { salt: "authjs.session-token" }]) {
      const claims = await nextAuth4.decode({ token: issued.session, secret: ["a newer secret", secret], ...more })
      expect(claims).toMatchObject({ sub: "5f2c", name: "Ada" })
    }
    expect(await nextAuth4.decode({ secret })).toBeNull()
  })

  test("does not take the token of an OAuth check for a session", async () => {
    for (const more of [{}, { salt: "next-auth.state" }]) {
      const code = "NO_MATCHING_SECRET"
      expect(await failure(nextAuth4.decode({ token: issued.state, secret, ...more }))).toMatchObject({ code })
    }
  })

  test("reads tokens of Auth.js only with their salt", async () => {
    const token = await encode({ token: { sub: "5f2c" }, secret, salt })
    expect(await nextAuth4.decode({ token, secret, salt })).toEqual(await decode({ token, secret, salt }))
    expect(await failure(nextAuth4.decode({ token, secret, salt: "other" }))).toMatchObject({
      code: "NO_MATCHING_SECRET",
    })
    for (const more of [{}, { salt: "" }]) {
      expect(await failure(nextAuth4.decode({ token, secret, ...more }))).toMatchObject({
        code: "TOKEN_ALGORITHM_NOT_ALLOWED",
      })
    }
  })

  test("and decode accepts no token of next-auth 4, also one that the cache has", async () => {
    const own = createTokenModule()
    const token = await own.nextAuth4.encode({ token: { sub: "5f2c" }, secret })
    for (let run = 0; run < 2; run++) {
      for (const each of [salt, "x", "NextAuth.js"]) {
        expect(await failure(own.decode({ token, secret, salt: each }))).toMatchObject({ code: "NO_MATCHING_SECRET" })
      }
      expect(await failure(own.decode({ token, secret, salt: "" }))).toMatchObject({ code: "NO_MATCHING_SECRET" })
      expect(await own.nextAuth4.decode({ token, secret })).toMatchObject({ sub: "5f2c" })
      expect(await failure(own.nextAuth4.decode({ token, secret: "another secret" }))).toMatchObject({
        code: "NO_MATCHING_SECRET",
      })
    }
  })
})

test("nextAuth4.encode writes the header of next-auth 4, whatever the salt is", async () => {
  const token = await nextAuth4.encode({ token: { sub: "5f2c" }, secret: [secret, "older"], salt, maxAge: 60 })
  expect(header(token)).toEqual({ alg: "dir", enc: "A256GCM" })
  const claims = await nextAuth4.decode({ token, secret })
  expect(claims).toEqual({ sub: "5f2c", iat: expect.any(Number), exp: expect.any(Number), jti: expect.any(String) })
  expect(Number(claims?.exp) - Number(claims?.iat)).toBe(60)
  const module = createTokenModule({ now: () => 1_000_000 })
  const dated = await module.nextAuth4.encode({ secret, maxAge: 60 })
  expect(await module.nextAuth4.decode({ token: dated, secret })).toMatchObject({ iat: 1000, exp: 1060 })
})

describe("nextAuth4.getToken", () => {
  const chunks = (name: string) =>
    [issued.session.slice(0, 100), issued.session.slice(100)].map((part, n) => `${name}.${n}=${part}`).join("; ")

  test.each([
    ["the cookie of next-auth 4", { cookie: `${cookie}=${issued.session}` }, {}],
    ["its chunks", { cookie: chunks(cookie) }, {}],
    ["the secure cookie", { cookie: `__Secure-${cookie}=${issued.session}` }, { secureCookie: true }],
    ["a cookie of another name", { cookie: `mine=${issued.session}` }, { cookieName: "mine" }],
    ["Authorization", { authorization: `Bearer ${issued.session}` }, {}],
  ])("finds the token in %s", async (_, headers, more) => {
    expect(await nextAuth4.getToken({ req: { headers }, secret, ...more })).toMatchObject({ sub: "5f2c" })
    expect(await createTokenModule().nextAuth4.getToken({ req: { headers }, secret, ...more })).toMatchObject({
      sub: "5f2c",
    })
    expect(await nextAuth4.getToken({ req: { headers }, raw: true, ...more })).toBe(issued.session)
    expect(await getToken({ req: { headers }, secret, ...more })).toBeNull()
  })

  test("does not find it in the cookie of Auth.js", async () => {
    const headers = { cookie: `authjs.session-token=${issued.session}` }
    expect(await nextAuth4.getToken({ req: { headers }, secret })).toBeNull()
  })

  test("takes the secret and the URL from the variables of next-auth 4", async () => {
    const kept = { ...process.env }
    try {
      Object.assign(process.env, { AUTH_SECRET: "another", NEXTAUTH_SECRET: secret })
      const headers = { cookie: `${cookie}=${issued.session}` }
      expect(await nextAuth4.getToken({ req: { headers } })).toMatchObject({ sub: "5f2c" })
      process.env.NEXTAUTH_URL = "https://app.example"
      expect(await nextAuth4.getToken({ req: { headers } })).toBeNull()
      expect(await nextAuth4.getToken({ req: { headers: { cookie: `__Secure-${headers.cookie}` } } })).not.toBeNull()
      delete process.env.NEXTAUTH_SECRET
      process.env.AUTH_SECRET = secret
      expect(await nextAuth4.getToken({ req: { headers }, secureCookie: false })).toMatchObject({ sub: "5f2c" })
    } finally {
      process.env = kept
    }
  })
})

test("sessionCookieName", () => {
  expect(sessionCookieName(false, "next-auth")).toBe("next-auth.session-token")
  expect(sessionCookieName(true, "next-auth")).toBe("__Secure-next-auth.session-token")
})
