import * as core from "@auth/core/jwt"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { encode, type GetTokenParams, getToken } from "./index.js"

const name = "authjs.session-token"
const secret = "the secret"
const from = { secret, salt: name }
const environment = ["AUTH_SECRET", "AUTH_SECRET_1", "AUTH_SECRET_2", "AUTH_SECRET_3", "AUTH_URL", "SERVICE_AUTH_URL"]
const kept = Object.fromEntries(environment.map((name) => [name, process.env[name]]))

function setEnvironment(values: Record<string, string | undefined>) {
  for (const name of environment) {
    if (values[name] === undefined) delete process.env[name]
    else process.env[name] = values[name]
  }
}

let small: string
let large: string
let twelve: string

beforeAll(async () => {
  setEnvironment({})
  small = await encode({ ...from, token: { sub: "small" } })
  large = await encode({ ...from, token: { sub: "large", groups: "g".repeat(7000) } })
  twelve = await encode({ ...from, token: { sub: "twelve", groups: "g".repeat(33_000) } })
})
afterEach(() => setEnvironment({}))
afterAll(() => setEnvironment(kept))

const chunks = (token: string, length = 3936) => token.match(new RegExp(`.{1,${length}}`, "g")) ?? []
const named = (pieces: string[]) => pieces.map((piece, index) => `${name}.${index}=${piece}`)
const withCookies = (...cookies: string[]) => ({ headers: { cookie: cookies.join("; ") } })

describe("cookies whose names only begin like that of the session cookie", () => {
  const strays = fc.constantFrom(
    "-other",
    "2",
    "_",
    ".x",
    ".",
    ".-1",
    ".00",
    ".01",
    ".1.2",
    ".0.0",
    ".1e0",
    ".0x1",
    ". 1",
    "..1",
  )

  test("never change the result", async () => {
    const sessions = [() => [`${name}=${small}`], () => named(chunks(large)), () => named(chunks(twelve))]
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...sessions),
        fc.array(fc.tuple(strays, fc.constantFrom("x", "", small, "0")), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        async (session, stray, first) => {
          const extra = stray.map(([suffix, value]) => `${name}${suffix}=${value}`)
          const req = withCookies(...(first ? [...extra, ...session()] : [...session(), ...extra]))
          const expected = await getToken({ req: withCookies(...session()), secret })
          expect(expected).toMatchObject({ sub: expect.any(String) })
          expect(await getToken({ req, secret })).toEqual(expected)
          expect(await getToken({ req, raw: true })).toBe(await getToken({ req: withCookies(...session()), raw: true }))
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe("12 chunks in any order, with left-over cookies", () => {
  const order = fc.shuffledSubarray([...Array(12).keys()], { minLength: 12, maxLength: 12 })
  const leftOver = fc.oneof(
    fc.constantFrom("", "stale").map((value) => `${name}=${value}`),
    fc
      .tuple(fc.integer({ min: 12, max: 40 }), fc.constantFrom("stale", "s".repeat(3936)))
      .map(([at, value]) => `${name}.${at}=${value}`),
    fc.constantFrom("-1", "01", "11.0", "").map((suffix) => `${name}.${suffix}=stale`),
  )

  test("always give the claims", async () => {
    await fc.assert(
      fc.asyncProperty(order, fc.array(leftOver, { maxLength: 4 }), fc.nat(12), async (order, stale, at) => {
        const pieces = named(chunks(twelve))
        const cookies = order.map((index) => pieces[index] as string)
        expect(await getToken({ req: withCookies(...cookies.toSpliced(at, 0, ...stale)), secret })).toMatchObject({
          sub: "twelve",
        })
      }),
      { numRuns: 150 },
    )
  })

  test("chunks of any length are joined", async () => {
    const pieces = [large.slice(0, 100), large.slice(100, 150), large.slice(150)]
    expect(await getToken({ req: withCookies(...named(pieces)), secret })).toMatchObject({ sub: "large" })
    expect(await getToken({ req: withCookies(...named(pieces)), raw: true })).toBe(large)
  })
})

describe("a whole cookie together with chunks", () => {
  test("the token that was issued last is used", async () => {
    const { now } = Date
    const later = async (sub: string, groups: string) => {
      Date.now = () => now() + 60_000
      try {
        return await encode({ ...from, token: { sub, groups } })
      } finally {
        Date.now = now
      }
    }
    const laterSmall = await later("later small", "")
    const laterLarge = await later("later large", "g".repeat(7000))
    expect(
      await getToken({ req: withCookies(`${name}=${laterSmall}`, ...named(chunks(large))), secret }),
    ).toMatchObject({
      sub: "later small",
    })
    expect(
      await getToken({ req: withCookies(`${name}=${small}`, ...named(chunks(laterLarge))), secret }),
    ).toMatchObject({
      sub: "later large",
    })
  })
})

describe("headers", () => {
  test.each<[string, (cookie: string) => unknown]>([
    ["a record with HTTP/2's pseudo-headers", (cookie) => ({ ":method": "GET", ":path": "/", cookie })],
    ["a record with lists, as Node's", (cookie) => ({ "set-cookie": ["a", "b"], cookie: ["theme=dark", cookie] })],
    ["a record with undefined", (cookie) => ({ authorization: undefined, cookie })],
    ["a record with characters that Headers refuses", (cookie) => ({ cookie: `名=値; ${cookie}; x=\n` })],
    ["a record with both cases", (cookie) => ({ Cookie: "theme=dark", cookie })],
    ["Headers of another make", (cookie) => ({ get: (name: string) => (name === "cookie" ? cookie : null) })],
    ["a Map", (cookie) => new Map([["cookie", cookie]])],
  ])("%s", async (_, headers) => {
    const req = { headers: headers(`${name}=${small}`) } as GetTokenParams["req"]
    expect(await getToken({ req, secret })).toMatchObject({ sub: "small" })
  })

  test.each<[string, unknown]>([
    ["none", {}],
    ["undefined", undefined],
    ["null", null],
    ["text", "cookie"],
    ["numbers", { cookie: 1, authorization: {} }],
  ])("%s: null", async (_, headers) => {
    expect(await getToken({ req: { headers } as GetTokenParams["req"], secret })).toBeNull()
  })

  test("a missing request is an error", async () => {
    await expect(getToken({} as GetTokenParams)).rejects.toThrow(new TypeError("the parameter req is missing"))
  })
})

test("getToken returns the same as @auth/core where no difference is intended", async () => {
  const other = await encode({ secret, salt: "sid", token: { sub: "other" } })
  const session = fc.constantFrom([], [`${name}=${small}`], named(chunks(large)), [`sid=${other}`], [`${name}=%zz`])
  const strays = ["theme=dark", "x=%zz", "=x", "novalue", `${name.toUpperCase()}=x`, `x${name}=x`, "a=%E0%A4%A", 'b=""']
  const cookies = fc
    .tuple(session, fc.subarray(strays))
    .map(([pieces, others]) => [...pieces, ...others])
    .chain((all) => fc.shuffledSubarray(all, { minLength: all.length }))
  const schemes = ["Bearer ", "bearer ", "Bearer  ", " Bearer ", "Basic ", "Bearer\t"]
  const authorization = fc.tuple(fc.constantFrom(...schemes), fc.constantFrom(small, encodeURIComponent(small), "%"))
  const request = fc.record({
    cookies,
    authorization: fc.option(authorization, { nil: ["", ""] as const }),
    separator: fc.constantFrom(";", "; ", " ;\t"),
    raw: fc.boolean(),
    cookieName: fc.constantFrom(name, "sid"),
    secret: fc.constantFrom<string | string[]>(secret, ["new", secret], "wrong"),
    isRecord: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(request, async ({ cookies, authorization, separator, isRecord, ...options }) => {
      const headers = { cookie: cookies.join(separator), authorization: authorization.join("") }
      const params = { ...options, req: { headers: isRecord ? headers : new Headers(headers) } }
      expect(await getToken(params)).toEqual(await core.getToken(params))
    }),
    { numRuns: 500 },
  )
})

test("getToken returns null and does not throw, whatever a client sends", async () => {
  const scrap = fc.oneof(
    fc.string({ unit: "binary" }),
    fc
      .array(
        fc.constantFrom(name, ".0", ".1", "=", ";", ".", "..", "%", "%00", " ", "e30", "Bearer ", "\0", "\ud800"),
        {
          maxLength: 20,
        },
      )
      .map((scraps) => scraps.join("")),
  )
  await fc.assert(
    fc.asyncProperty(scrap, scrap, async (cookie, authorization) => {
      expect(await getToken({ req: { headers: { cookie, authorization } }, secret })).toBeNull()
      const raw = await getToken({ req: { headers: { cookie, authorization } }, raw: true })
      expect(raw === null || raw.length > 0).toBe(true)
    }),
    { numRuns: 1000 },
  )
})

describe("the secret", () => {
  const req = () => withCookies(`${name}=${small}`)

  test.each([undefined, "", [], [""]])("%j without AUTH_SECRET: MISSING_SECRET", async (secret) => {
    const params = { req: req(), ...(secret !== undefined && { secret }) }
    await expect(getToken(params)).rejects.toMatchObject({
      name: "MissingSecret",
      code: "MISSING_SECRET",
      message: "there is no secret: pass one, or set AUTH_SECRET",
    })
  })

  test("is not needed without a token, as in @auth/core", async () => {
    expect(await getToken({ req: { headers: {} } })).toBeNull()
    expect(await core.getToken({ req: { headers: {} } })).toBeNull()
    expect(await getToken({ req: req(), raw: true })).toBe(small)
  })

  test("is read from the environment by default, in the order of Auth.js", async () => {
    setEnvironment({ AUTH_SECRET: "old", AUTH_SECRET_1: secret, AUTH_SECRET_2: "newest" })
    expect(await getToken({ req: req() })).toMatchObject({ sub: "small" })
    const given: unknown[] = []
    const decode: GetTokenParams["decode"] = ({ secret }) => {
      given.push(secret)
      return null
    }
    await getToken({ req: req(), decode })
    expect(given).toEqual([["newest", secret, "old"]])
  })
})

describe("the cookie's name", () => {
  test.each([
    [{}, name],
    [{ AUTH_URL: "http://localhost:3000" }, name],
    [{ AUTH_URL: "https://app.example" }, `__Secure-${name}`],
    [{ AUTH_URL: "https://app.example", SERVICE_AUTH_URL: "http://localhost" }, name],
    [{ AUTH_URL: "http://localhost", SERVICE_AUTH_URL: "https://app.example" }, `__Secure-${name}`],
  ])("with the environment %j is %s, and so is the salt", async (env, expected) => {
    setEnvironment(env)
    const token = await encode({ secret, salt: expected, token: { sub: "env" } })
    expect(await getToken({ req: withCookies(`${expected}=${token}`), secret })).toMatchObject({ sub: "env" })
    expect(await getToken({ req: withCookies(`${name}x=${token}`), secret })).toBeNull()
  })
})

describe("custom decode and logger", () => {
  test("decode is called with token, secret and salt", async () => {
    const asked: unknown[] = []
    const decode = async (params: unknown) => {
      asked.push(params)
      return { sub: "custom" }
    }
    const req = withCookies("sid=opaque")
    expect(await getToken({ req, secret: [secret, "old"], cookieName: "sid", salt: "salt", decode })).toEqual({
      sub: "custom",
    })
    expect(asked).toEqual([{ token: "opaque", secret: [secret, "old"], salt: "salt" }])
  })

  test.each<[string, GetTokenParams["decode"]]>([
    ["null", () => null],
    ["a rejection", () => Promise.reject(new Error("no"))],
    [
      "an exception",
      () => {
        throw new Error("no")
      },
    ],
  ])("%s of decode gives null", async (_, decode) => {
    expect(await getToken({ req: withCookies(`${name}=x`), secret, ...(decode && { decode }) })).toBeNull()
  })

  test("the logger receives only the code", async () => {
    const heard: unknown[] = []
    const logger = { debug: (...all: unknown[]) => void heard.push(all), warn: () => {}, error: () => {} }
    await getToken({ req: withCookies(`${name}=${small}`), secret: "wrong", logger })
    await getToken({ req: withCookies(`${name}=x`), secret, decode: () => Promise.reject(new Error(small)), logger })
    expect(heard).toEqual([
      ["TOKEN_REFUSED", { code: "NO_MATCHING_SECRET" }],
      ["TOKEN_REFUSED", { code: "UNKNOWN" }],
    ])
  })
})
