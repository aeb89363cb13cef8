import { encode, type TokenModule } from "@authwire/token"
import { describe, expect, jest, test } from "@jest/globals"
import {
  ada,
  caller,
  chunks,
  host,
  hourMs,
  jwt,
  plain,
  secure,
  useRequestSessions,
} from "../../test/request-sessions.js"
import { Failure } from "../errors/failure.js"
import { findRequestSession, type RequestSessionDeps, type RequestSessionOptions } from "./request-session.js"

describe("findRequestSession", () => {
  const at = useRequestSessions()
  const { find, signIn } = at

  test("a session in the database: by cookie and as Bearer, percent-encoded", async () => {
    const { sessionToken, id, expires } = await signIn("ada", "with+plus/slash=and space%25")
    const found = { kind: "database", userId: "ada", sessionId: id, expires, user: ada, claims: undefined }
    const encoded = encodeURIComponent(sessionToken)
    for (const name of [plain, secure, host]) {
      expect(await find({ cookie: `theme=dark; ${name}=${encoded}; a` })).toEqual(found)
    }
    for (const scheme of ["Bearer", "bearer", "BEARER ", "bearer  "]) {
      expect(await find({ authorization: `${scheme} ${encoded}` })).toEqual(found)
    }
    expect(await find({ cookie: `sid=${encoded}` }, { cookieName: "sid" })).toEqual(found)
    expect(await find({ cookie: `${plain}=${encoded}` }, { cookieName: "sid" })).toBeNull()
  })

  test("an expired session in the database is no session, and is not extended", async () => {
    const { sessionToken } = await signIn("ada")
    at.now += hourMs
    expect(await find({ cookie: `${plain}=${sessionToken}` })).toMatchObject({ userId: "ada" })
    at.now += 1
    expect(await find({ cookie: `${plain}=${sessionToken}` })).toBeNull()
  })

  test("a JWT: by cookie with the cookie's name as salt, in chunks in any order, as Bearer with any of the names", async () => {
    for (const name of [plain, secure, host]) {
      const token = await jwt("ada", name)
      const found = {
        kind: "jwt",
        userId: "ada",
        sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        expires: expect.any(Date),
        user: undefined,
        claims: expect.objectContaining({ sub: "ada" }),
      }
      expect(await find({ cookie: `${name}=${token}` })).toEqual(found)
      expect(await find({ authorization: `Bearer ${token}` })).toEqual(found)
      // Twelve chunks, because chunk 10 has to follow chunk 9, in numerical order.
      const parts = chunks(name, await jwt("ada", name, { picture: "x".repeat(33_000) }))
      expect(parts.length).toBeGreaterThan(11)
      expect(await find({ cookie: parts.toReversed().join("; ") })).toEqual(found)
      expect(await find({ cookie: parts.slice(1).join("; ") })).toBeNull()
    }
    const token = await jwt("ada", "my salt")
    expect(await find({ cookie: `sid=${token}` }, { cookieName: "sid" })).toBeNull()
    expect(await find({ cookie: `sid=${token}` }, { cookieName: "sid", salt: "my salt" })).toMatchObject({
      kind: "jwt",
    })
    expect(await find({ authorization: `Bearer ${token}` }, { salt: "my salt" })).toMatchObject({ kind: "jwt" })
  })

  test.each([
    ["no user", { sub: undefined }],
    ["an empty user", { sub: "" }],
    ["a user that is no text", { sub: 7 }],
  ])("a JWT of %s is no session, which is reported", async (_, claims) => {
    expect(await find({ cookie: `${plain}=${await jwt("ada", plain, claims)}` })).toBeNull()
    expect(at.missing).toEqual([["default", "sub"]])
  })

  test("the id of the user can be in another claim of a JWT, and is then in no other", async () => {
    const by = async (claims: object, options: RequestSessionOptions) =>
      (await find({ cookie: `${plain}=${await jwt("eve", plain, claims)}` }, options))?.userId
    const options = { userIdClaim: "uid" }
    expect(await by({ sub: undefined, uid: "ada" }, options)).toBe("ada")
    expect(await by({ uid: "ada" }, { ...options, withUser: true })).toBe("ada")
    expect(at.missing).toEqual([])
    for (const uid of [undefined, "", 7, ["ada"]]) expect(await by({ uid }, options)).toBeUndefined()
    expect(await by({}, { userIdClaim: "constructor" })).toBeUndefined()
    expect(at.missing).toEqual([...Array(4).fill(["default", "uid"]), ["default", "constructor"]])
  })

  test("a JWT that has expired, of another secret, or changed, is no session", async () => {
    const token = await jwt("ada")
    const tag = token.lastIndexOf(".") + 1
    for (const other of [
      await jwt("ada", plain, {}, -60),
      await encode({ token: { sub: "ada" }, secret: "another secret", salt: plain }),
      `${token.slice(0, tag)}${token[tag] === "A" ? "B" : "A"}${token.slice(tag + 1)}`,
      "a.b.c.d.e",
      "....",
    ]) {
      expect(await find({ cookie: `${plain}=${other}` })).toBeNull()
      expect(await find({ authorization: `Bearer ${other}` })).toBeNull()
    }
  })

  test("a JWT that expires after the last possible time expires at that time", async () => {
    const token = await jwt("ada", plain, {}, 1e300)
    expect((await find({ cookie: `${plain}=${token}` }))?.expires).toEqual(new Date("9999-12-31T23:59:59.999Z"))
  })

  test("with withUser a JWT brings the stored user, and is no session without one", async () => {
    const cookie = `${plain}=${await jwt("ada")}`
    expect(await find({ cookie }, { withUser: true })).toMatchObject({ kind: "jwt", user: ada })
    await at.store.users.delete(caller, "ada")
    expect(await find({ cookie }, { withUser: true })).toBeNull()
    expect(await find({ cookie })).toMatchObject({ kind: "jwt", user: undefined })
  })

  test("a disabled user has no session; with withUser false a JWT is one nevertheless", async () => {
    const { sessionToken } = await signIn("ada")
    const [byDatabase, byJwt] = [{ cookie: `${plain}=${sessionToken}` }, { cookie: `${plain}=${await jwt("ada")}` }]
    for (const headers of [byDatabase, byJwt]) expect(await find(headers)).not.toBeNull()
    await at.store.users.disable(caller, "ada", {})
    expect(await find(byDatabase)).toBeNull()
    for (const withUser of [undefined, true]) expect(await find(byJwt, { withUser })).toBeNull()
    expect(await find(byJwt, { withUser: false })).toMatchObject({ kind: "jwt", userId: "ada" })
    await at.store.users.enable(caller, "ada")
    expect(await find(byDatabase)).toBeNull()
    expect(await find(byJwt)).toMatchObject({ kind: "jwt", user: undefined })
  })

  test.each([
    ["is its claim jti", { jti: "of the token" }, "of the token"],
    ["is absent if that is empty", { jti: "" }, undefined],
    ["is absent if that is no text", { jti: 7 }, undefined],
  ])("the session id of a JWT %s", async (_, claims, sessionId) => {
    // A JWT of encode() always has a jti; a JWT of another program may not.
    const getToken = async () => ({ sub: "ada", exp: at.now / 1000 + 60, ...claims })
    at.deps = { ...at.deps, tokens: { ...at.deps.tokens, getToken: getToken as unknown as TokenModule["getToken"] } }
    const found = await find({ cookie: `${plain}=${await jwt("ada")}` })
    expect(found).toMatchObject({ kind: "jwt", userId: "ada" })
    expect(found?.sessionId).toBe(sessionId)
  })

  test("a value that cannot be a token or a user id is not looked up", async () => {
    const get = jest.fn<RequestSessionDeps["users"]["get"]>(() => Promise.reject(new Error("looked up")))
    const getWithUser = jest.fn<RequestSessionDeps["sessions"]["getWithUser"]>(() =>
      Promise.reject(new Error("looked up")),
    )
    at.deps = { ...at.deps, users: { get }, sessions: { getWithUser } }
    const withUser = async (sub: string) => find({ cookie: `${plain}=${await jwt(sub)}` }, { withUser: true })
    for (const sub of ["x".repeat(256), "é".repeat(128), "nul\0"]) expect(await withUser(sub)).toBeNull()
    await expect(withUser("x".repeat(255))).rejects.toThrow("looked up")
    const byToken = (length: number) => find({ authorization: `Bearer ${"t".repeat(length)}` })
    expect(await byToken(16_385)).toBeNull()
    await expect(byToken(16_384)).rejects.toThrow("looked up")
  })

  test("another tenant finds nothing; a tenant without secrets cannot decide on a JWT", async () => {
    const { sessionToken } = await signIn("ada")
    const token = await jwt("ada")
    expect(await find({ cookie: `${plain}=${sessionToken}` }, {}, "acme")).toBeNull()
    const failing = find({ cookie: `${plain}=${token}` }, {}, "acme")
    await expect(failing).rejects.toMatchObject({ reason: "MISSING_SECRET" })
    await expect(failing).rejects.toBeInstanceOf(Failure)
    expect(await find({ cookie: `${plain}=${token}` }, { strategy: "database" }, "acme")).toBeNull()
    at.deps.secretsOf = () => ["acme's own secret"]
    expect(await find({ cookie: `${plain}=${token}` }, {}, "acme")).toBeNull()
  })

  test.each([
    ["no headers", {}],
    ["empty headers", { cookie: "", authorization: "" }],
    ["other cookies", { cookie: `${plain}2=x; ${plain}.x=y; ${plain}.1=z; x${plain}=y` }],
    ["an empty cookie", { cookie: `${plain}=` }],
    ["an unknown session", { cookie: `${plain}=unknown` }],
    ["malformed percent-encoding", { cookie: `${plain}=%zz` }],
    ["a token that is too long", { cookie: `${plain}=${"x".repeat(16_385)}` }],
    ["another scheme", { authorization: "Basic YTpi" }],
    ["nothing after Bearer", { authorization: "Bearer " }],
  ])("%s: no session", async (_, headers) => {
    expect(await find(headers)).toBeNull()
  })

  test("a store that does not answer is a failure, not a sign-out", async () => {
    const closed = await at.database.openStore()
    await closed.close()
    const broken = { ...at.deps, sessions: closed.sessions, users: closed.users }
    const headers = { get: (name: string) => (name === "cookie" ? `${plain}=some-token` : undefined) }
    await expect(findRequestSession(broken, caller, headers)).rejects.toThrow()
  })
})
