import { nextAuth4 } from "@authwire/token"
import { describe, expect, jest, test } from "@jest/globals"
import {
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
import type { RequestSessionOptions } from "./request-session.js"

describe("findRequestSession, which cookies and tokens of a request count", () => {
  const at = useRequestSessions()
  const { find, signIn } = at

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

  test("strategy: only sessions of that strategy are accepted", async () => {
    const { sessionToken } = await signIn("ada")
    const byDatabase = { cookie: `${plain}=${sessionToken}` }
    const byJwt = { cookie: `${plain}=${await jwt("ada")}` }
    expect(await find(byDatabase, { strategy: "database" })).not.toBeNull()
    expect(await find(byDatabase, { strategy: "jwt" })).toBeNull()
    expect(await find(byJwt, { strategy: "jwt" })).not.toBeNull()
    expect(await find(byJwt, { strategy: "database" })).toBeNull()
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
