import { encode, nextAuth4, type TokenModule } from "@authwire/token"
import { describe, expect, jest, test } from "@jest/globals"
import {
  ada,
  caller,
  chunks,
  host,
  jwt,
  pictureOf,
  plain,
  secret,
  secure,
  useRequestSessions,
} from "../../test/request-sessions.js"
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

  test("a JWT that a provider has ended is no session, by its claims sid, provider and auth_time or iat", async () => {
    const isFound = async (claims: object, options?: RequestSessionOptions) =>
      (await find({ cookie: `${plain}=${await jwt("eve", plain, claims)}` }, options)) !== null
    await at.store.users.create(caller, { id: "eve", extra: {} })
    const seconds = Math.floor(at.now / 1000)
    await at.store.signals.endTokens(caller, { provider: "idp", providerSessionId: "ended" })
    const [ended, later] = [{ provider: "idp", sid: "ended" }, { auth_time: seconds + 60 }]
    for (const claims of [ended, { ...ended, ...later }, { sid: "ended" }, { ...ended, sub: "not stored" }])
      expect([claims, await isFound(claims)]).toEqual([claims, false])
    for (const claims of [
      { ...ended, provider: "other" },
      { ...ended, sid: "other" },
      { ...ended, sid: ["ended"] },
    ])
      expect([claims, await isFound(claims)]).toEqual([claims, true])
    expect(await isFound(ended, { withUser: false })).toBe(true)
    expect(await isFound({ uid: "x".repeat(256), ...ended }, { userIdClaim: "uid" })).toBe(false)
    // The JWTs are issued by another clock, and before.
    at.now += 30_000
    await at.store.signals.endTokens(caller, { provider: "idp", userId: "eve" })
    const signIns = [{}, { provider: "idp" }, { provider: "idp", auth_time: seconds }, { ...later, auth_time: "soon" }]
    for (const claims of signIns) expect([claims, await isFound(claims)]).toEqual([claims, false])
    for (const claims of [{ provider: "other" }, later]) expect([claims, await isFound(claims)]).toEqual([claims, true])
    expect(await isFound({ uid: "eve" }, { userIdClaim: "uid", withUser: true })).toBe(false)
    expect(await isFound({ uid: "grace" }, { userIdClaim: "uid", withUser: true })).toBe(true)
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
    const holderOf = jest.fn<RequestSessionDeps["signals"]["holderOf"]>(async (_, { userId }) => {
      if (userId !== undefined) throw new Error("looked up")
      return { user: null, isEnded: false }
    })
    const getWithUser = jest.fn<RequestSessionDeps["sessions"]["getWithUser"]>(() =>
      Promise.reject(new Error("looked up")),
    )
    at.deps = { ...at.deps, signals: { holderOf }, sessions: { getWithUser } }
    const withUser = async (sub: string) => find({ cookie: `${plain}=${await jwt(sub)}` }, { withUser: true })
    for (const sub of ["x".repeat(256), "é".repeat(128), "nul\0"]) expect(await withUser(sub)).toBeNull()
    await expect(withUser("x".repeat(255))).rejects.toThrow("looked up")
    const byToken = (length: number) => find({ authorization: `Bearer ${"t".repeat(length)}` })
    expect(await byToken(16_385)).toBeNull()
    await expect(byToken(16_384)).rejects.toThrow("looked up")
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
    const broken = { ...at.deps, sessions: closed.sessions, signals: closed.signals }
    const headers = { get: (name: string) => (name === "cookie" ? `${plain}=some-token` : undefined) }
    await expect(findRequestSession(broken, caller, headers)).rejects.toThrow()
  })

  describe("the cookies and tokens of a request that count", () => {
    test("the cookie name that is hardest to plant is used, whatever its value; a cookie precedes Bearer", async () => {
      const [mine, planted] = [await signIn("ada"), await signIn("grace")]
      const cookie = (name: string, { sessionToken }: { sessionToken: string }) => `${name}=${sessionToken}`
      for (const [better, worse] of [
        [host, secure],
        [host, plain],
        [secure, plain],
      ] as const) {
        const both = `${cookie(worse, planted)}; ${cookie(better, mine)}`
        expect(await find({ cookie: both })).toMatchObject({ userId: "ada" })
        expect(await find({ cookie: `${cookie(worse, planted)}; ${better}=gone` })).toBeNull()
      }
      const authorization = `Bearer ${planted.sessionToken}`
      expect(await find({ cookie: cookie(plain, mine), authorization })).toMatchObject({ userId: "ada" })
      expect(await find({ cookie: `${plain}=gone`, authorization })).toBeNull()
      expect(await find({ cookie: "theme=dark", authorization })).toMatchObject({ userId: "grace" })
    })

    test("a cookie without a secure prefix is ignored if cookies are known to have one", async () => {
      const { sessionToken } = await signIn("ada")
      const by = (name: string, options?: RequestSessionOptions) =>
        find({ cookie: `${name}=${sessionToken}` }, options).then((session) => session !== null)
      const counting = async (options?: RequestSessionOptions) => {
        const names: string[] = []
        for (const name of [host, secure, plain]) if (await by(name, options)) names.push(name)
        return names
      }
      expect(await counting()).toEqual([host, secure, plain])
      expect(await counting({ secureCookie: true })).toEqual([host, secure])
      expect(await counting({ secureCookie: false })).toEqual([plain])
      at.deps.secureCookie = true
      expect(await counting()).toEqual([host, secure])
      expect(await counting({ secureCookie: false })).toEqual([plain])
    })

    test("leftover chunks of a JWT do not authenticate a request whose database session was revoked", async () => {
      const { sessionToken, id } = await signIn("ada")
      const leftOver = chunks(plain, await jwt("grace", plain, pictureOf(5_000))).join("; ")
      const cookie = `${leftOver}; ${plain}=${sessionToken}`
      expect(await find({ cookie })).toMatchObject({ kind: "database", userId: "ada" })
      await at.store.sessions.revoke(caller, id as string)
      expect(await find({ cookie })).toBeNull()
    })

    test("of several JWTs under one name the one that was issued last is used", async () => {
      const earlier = jest.spyOn(Date, "now").mockReturnValue(at.now - 60_000)
      const old = await jwt("ada", plain, pictureOf(5_000))
      earlier.mockRestore()
      const cookie = `${chunks(plain, old).join("; ")}; ${plain}=${await jwt("grace")}`
      expect(await find({ cookie })).toMatchObject({ userId: "grace" })
    })

    test("leftover chunks of a longer JWT, with its last dot, are not added to the chunks of a shorter one", async () => {
      const [longer, token] = [await jwt("grace", plain, pictureOf(9_000)), await jwt("ada", plain, pictureOf(5_000))]
      const leftOver = chunks(plain, longer).slice(chunks(plain, token).length)
      expect(leftOver.join()).toContain(".")
      expect(await find({ cookie: [...chunks(plain, token), ...leftOver].join("; ") })).toMatchObject({ userId: "ada" })
    })

    describe("with nextAuth4", () => {
      const [older, olderSecure] = ["next-auth.session-token", "__Secure-next-auth.session-token"]
      const old = () => nextAuth4.encode({ token: { sub: "ada" }, secret })

      test("a session is found under the names of next-auth 4 only", async () => {
        const { sessionToken } = await signIn("ada")
        for (const value of [sessionToken, await old()]) {
          for (const name of [older, olderSecure]) {
            expect(await find({ cookie: `${name}=${value}` }, { nextAuth4: true })).toMatchObject({ userId: "ada" })
            expect(await find({ cookie: `${name}=${value}` })).toBeNull()
          }
          for (const name of [plain, secure, host]) {
            expect(await find({ cookie: `${name}=${value}` }, { nextAuth4: true })).toBeNull()
          }
          const given = { nextAuth4: true, cookieName: "sid" }
          expect(await find({ cookie: `sid=${value}` }, given)).toMatchObject({ userId: "ada" })
          const known = { nextAuth4: true, secureCookie: true }
          expect(await find({ cookie: `${older}=${value}` }, known)).toBeNull()
        }
      })

      test("a JWT of next-auth 4 counts only there, and one of Auth.js with the name of the cookie too", async () => {
        const token = await old()
        expect(await find({ authorization: `Bearer ${token}` }, { nextAuth4: true })).toMatchObject({ userId: "ada" })
        expect(await find({ authorization: `Bearer ${token}` })).toBeNull()
        expect(await find({ cookie: `${older}=${token}` }, { cookieName: older })).toBeNull()
        for (const [salt, userId] of [
          [older, "ada"],
          [plain, undefined],
        ] as const) {
          const found = await find({ cookie: `${older}=${await jwt("ada", salt)}` }, { nextAuth4: true })
          expect(found?.userId).toBe(userId)
        }
        at.deps.secretsOf = () => ["another secret"]
        expect(await find({ cookie: `${older}=${token}` }, { nextAuth4: true })).toBeNull()
      })
    })
  })
})
