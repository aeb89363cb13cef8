import { nextAuth4 } from "@authwire/token"
import { beforeAll, describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { hasNextAuth4, type Jwt4, loadJwt4 } from "./next-auth.js"

const cookie = "next-auth.session-token"

/** The cookies into which next-auth splits a token. */
const chunked = (name: string, token: string): [string, string][] =>
  (token.match(/.{1,3933}/g) ?? []).map((part, index) => [`${name}.${index}`, part])

;(hasNextAuth4() ? describe : describe.skip)("the tokens of the real next-auth/jwt 4", () => {
  let jwt: Jwt4
  beforeAll(() => {
    jwt = loadJwt4()
  })

  const secret = fc.string({ unit: "binary", minLength: 1, maxLength: 60 })
  const reserved = new Set(["iat", "exp", "jti", "nbf", "__proto__"])
  const claims = fc.dictionary(
    fc.string({ unit: "binary", maxLength: 20 }).filter((name) => !reserved.has(name)),
    fc.jsonValue({ stringUnit: "binary", maxDepth: 3 }),
    { maxKeys: 8 },
  )
  const sample = fc.record({ secret, claims, maxAge: fc.integer({ min: 1, max: 100_000_000 }) })

  test("any claims with any secret are read alike, both ways", async () => {
    await fc.assert(
      fc.asyncProperty(sample, async ({ secret, claims, maxAge }) => {
        const [ours, theirs] = [
          await nextAuth4.encode({ token: claims, secret, maxAge }),
          await jwt.encode({ token: claims, secret, maxAge }),
        ]
        expect(ours.split(".")[0]).toBe(theirs.split(".")[0])
        for (const token of [ours, theirs]) {
          const read = await jwt.decode({ token, secret })
          expect(await nextAuth4.decode({ token, secret: ["newer", secret] })).toEqual(read)
          expect(read).toMatchObject(JSON.parse(JSON.stringify(claims)))
          expect(Number(read?.exp) - Number(read?.iat)).toBe(maxAge)
        }
      }),
      { numRuns: 100 },
    )
  })

  test("a token of an OAuth check is read by neither", async () => {
    const secret = "s"
    const token = await jwt.encode({ token: { value: "v" }, secret, salt: "next-auth.state" })
    await expect(jwt.decode({ token, secret })).rejects.toThrow()
    await expect(nextAuth4.decode({ token, secret, salt: "next-auth.state" })).rejects.toThrow()
  })

  test.each([
    ["expired", -16, false],
    ["within the tolerance", -5, true],
  ])("a token that is %s", async (_, maxAge, isRead) => {
    const token = await jwt.encode({ token: { sub: "u" }, secret: "s", maxAge })
    for (const { decode } of [jwt, nextAuth4]) {
      const read = decode({ token, secret: "s" })
      if (isRead) expect(await read).toMatchObject({ sub: "u" })
      else await expect(read).rejects.toThrow()
    }
  })

  test.each([10, 9_000])("getToken finds a token of %i characters in the same cookies", async (length) => {
    const secret = "s"
    for (const token of [
      await jwt.encode({ token: { sub: "u", padding: "x".repeat(length) }, secret }),
      await nextAuth4.encode({ token: { sub: "u", padding: "x".repeat(length) }, secret }),
    ]) {
      for (const [name, more] of [
        [cookie, { secureCookie: false }],
        [`__Secure-${cookie}`, { secureCookie: true }],
        ["mine", { cookieName: "mine", secureCookie: false }],
      ] as const) {
        const cookies: [string, string][] = length > 4_000 ? chunked(name, token) : [[name, token]]
        const header = cookies.map((pair) => pair.join("=")).join("; ")
        const theirs = await jwt.getToken({
          req: { cookies: Object.fromEntries(cookies), headers: {} },
          secret,
          ...more,
        })
        const ours = await nextAuth4.getToken({ req: { headers: { cookie: header } }, secret, ...more })
        expect(ours).toEqual(theirs)
        expect(ours).toMatchObject({ sub: "u" })
      }
    }
  })
})
