import * as core from "@auth/core/jwt"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { parseCookies as coreParseCookies } from "../test/core.js"
import { encode, getToken } from "./index.js"
import { parseCookies } from "./request/cookies.js"

// Compares getToken with that of @auth/core on generated requests. Requests with intended differences are not generated
// here; get-token.test.ts tests them.

const secret = "the secret"
const names = ["authjs.session-token", "__Secure-authjs.session-token", "sid", "a.0", "my session"]

const environment = ["AUTH_SECRET", "AUTH_SECRET_1", "AUTH_URL", "SERVICE_AUTH_URL"]
const kept = new Map<string, string | undefined>()
/** For each salt, a token of the current secret and one of an older secret. */
const tokens: [current: string, old: string][] = []

beforeAll(async () => {
  for (const name of environment) {
    kept.set(name, process.env[name])
    delete process.env[name]
  }
  for (const salt of names) {
    tokens.push([
      await encode({ secret, salt, token: { sub: "1", name: "Ada" } }),
      await core.encode({ secret: "an older secret", salt, token: { sub: "2" } }),
    ])
  }
})
afterAll(() => {
  for (const [name, value] of kept) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
})

// The characters of a header: Latin-1 without control characters, except for the tab.
const latin1 = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
  { weight: 2, arbitrary: fc.integer({ min: 0xa0, max: 0xff }) },
  { weight: 1, arbitrary: fc.constant(0x09) },
)
const character = latin1.map((code) => String.fromCharCode(code))
const value = fc.string({ unit: character.filter((one) => one !== ";"), maxLength: 30 })
const encodings = fc.constantFrom("%", "%2", "%41", "%zz", "%E0%A4%A", "%e2%82%ac", '"', '""', "=", "a=b", "a b", "")
const someToken = fc.oneof(
  { weight: 8, arbitrary: fc.record({ salt: fc.constant("own"), secret: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ salt: fc.constantFrom(...names), secret: fc.nat(1) }) },
  { weight: 1, arbitrary: value },
)
const blanks = fc.constantFrom("", "", "", " ", "\t", " \t ")

type Generated<A> = A extends fc.Arbitrary<infer T> ? T : never

function textOf(token: Generated<typeof someToken>, ownSalt: string): string {
  if (typeof token === "string") return token
  return tokens[names.indexOf(token.salt === "own" ? ownSalt : token.salt)]?.[token.secret] as string
}

interface Piece {
  name: string
  value: string
}

/** Generates the cookies of a session: one cookie, or up to 12 chunks of the same length in any order. */
const session = fc.record({
  token: someToken,
  chunks: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
  order: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 12, maxLength: 12 }),
  encoded: fc.boolean(),
})

function sessionPieces(
  name: string,
  salt: string,
  { token, chunks, order, encoded }: Generated<typeof session>,
): Piece[] {
  const text = textOf(token, salt)
  const shown = (one: string) => (encoded ? one.replaceAll(".", "%2E") : one)
  if (chunks === undefined) return [{ name, value: shown(text) }]
  // A split value must consist of characters of a token, because blanks and percent-encoding would not survive a split.
  const cut = text.replaceAll(/[^\w.-]/g, "x")
  const length = Math.max(1, Math.ceil(cut.length / chunks))
  const pieces = cut.match(new RegExp(`[^]{1,${length}}`, "g")) ?? []
  return pieces
    .map((piece, index) => ({ name: `${name}.${index}`, value: shown(piece), at: order[index] as number }))
    .toSorted((one, other) => one.at - other.at)
}

const authorization = fc.oneof(
  fc.tuple(
    fc.constantFrom("Bearer ", "Bearer ", "Bearer ", "bearer ", "Bearer  ", "Basic ", "Bearer\t", " Bearer ", ""),
    someToken,
    fc.boolean(),
    fc.constantFrom("", "", " ", " more", ","),
  ),
  fc.tuple(fc.constant("Bearer "), encodings, fc.constant(false), fc.constant("")),
)

const request = fc
  .record({
    cookieName: fc.option(fc.constantFrom(...names), { nil: undefined }),
    secureCookie: fc.option(fc.boolean(), { nil: undefined }),
  })
  .chain((naming) => {
    const name = naming.cookieName ?? ((naming.secureCookie ? names[1] : names[0]) as string)
    const strayNames = fc.oneof(
      fc.constantFrom("theme", "authjs.csrf-token", `x${name}`, name.slice(0, -1), name.toUpperCase(), `x.${name}.0`),
      fc.string({ unit: character.filter((one) => !"=;".includes(one)), maxLength: 12 }),
    )
    return fc.record({
      naming: fc.constant(naming),
      name: fc.constant(name),
      session: fc.option(session, { nil: undefined, freq: 6 }),
      again: fc.option(session, { nil: undefined, freq: 2 }),
      strays: fc.array(
        fc.record({
          name: strayNames.filter((stray) => !stray.trim().startsWith(name)),
          value: fc.oneof(value, encodings),
        }),
        { maxLength: 4 },
      ),
      noise: fc.array(fc.constantFrom("", " ", "novalue", "=", "=x"), { maxLength: 2 }),
      blanks,
      authorization: fc.option(authorization, { nil: undefined }),
      salt: fc.option(fc.constantFrom(...names), { nil: undefined, freq: 1 }),
      secrets: fc.constantFrom<string | string[]>(
        secret,
        [secret],
        [secret, "an older secret"],
        ["new", secret],
        "wrong",
      ),
      raw: fc.boolean(),
      shape: fc.constantFrom("Headers", "Request", "record", "mixed case"),
    })
  })

function headersOf(given: Generated<typeof request>): Record<string, string> {
  const pieces = given.session ? sessionPieces(given.name, given.salt ?? given.name, given.session) : []
  const taken = new Set(pieces.map((piece) => piece.name))
  // Repeats cookie names at the end: the first cookie of a name counts.
  const again = given.again
    ? sessionPieces(given.name, given.salt ?? given.name, given.again).filter((piece) => taken.has(piece.name))
    : []
  const pairs = [...given.strays.slice(0, 2), ...pieces, ...given.strays.slice(2), ...again]
  const cookies = [...pairs.map(({ name, value }) => `${name}${given.blanks}=${given.blanks}${value}`), ...given.noise]
  const headers: Record<string, string> = {}
  if (cookies.length > 0) headers.Cookie = cookies.join(`${given.blanks};`)
  if (given.authorization) {
    const [scheme, token, encoded, rest] = given.authorization
    const text = textOf(token, given.salt ?? given.name)
    headers.Authorization = `${scheme}${encoded ? encodeURIComponent(text) : text}${rest}`
  }
  return headers
}

function shaped(headers: Record<string, string>, shape: string) {
  switch (shape) {
    case "Request":
      return new Request("https://app.example", { headers })
    case "record":
      return { headers: Object.fromEntries(new Headers(headers)) }
    case "mixed case":
      return { headers }
    default:
      return { headers: new Headers(headers) }
  }
}

describe("getToken", () => {
  test("returns the same as @auth/core for any request", async () => {
    let found = 0
    await fc.assert(
      fc.asyncProperty(request, async (given) => {
        const headers = headersOf(given)
        // An intended difference: @auth/core uses the text "undefined" for a missing token.
        fc.pre(!(given.raw && /^\s*Bearer\s*$/.test(headers.Authorization ?? "")))
        const options = {
          req: shaped(headers, given.shape),
          secret: given.secrets,
          raw: given.raw,
          ...(given.naming.cookieName !== undefined && { cookieName: given.naming.cookieName }),
          ...(given.naming.secureCookie !== undefined && { secureCookie: given.naming.secureCookie }),
          ...(given.salt !== undefined && { salt: given.salt }),
        }
        const expected = await core.getToken(options)
        if (expected !== null && typeof expected === "object") found++
        expect(await getToken(options)).toEqual(expected)
      }),
      { numRuns: 1500 },
    )
    // Otherwise too few requests would contain a token.
    expect(found).toBeGreaterThan(200)
  }, 60_000)
})

describe("parseCookies", () => {
  const scrap = fc.constantFrom(
    ";",
    ";",
    "=",
    "=",
    " ",
    "\t",
    '"',
    "%",
    "%41",
    "%zz",
    "a",
    "b",
    "a.0",
    "__proto__",
    "ü",
    "\u00a0",
    ",",
  )

  test("parses any header as @auth/core does", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(scrap, { maxLength: 30 }).map((scraps) => scraps.join("")),
          fc.string({ unit: "binary" }),
        ),
        (header) => {
          // In @auth/core the header "=" contains no cookie, and "= " one without a name.
          fc.pre(header !== "=")
          expect([...parseCookies(header)].toSorted()).toEqual(Object.entries(coreParseCookies(header)).toSorted())
        },
      ),
      { numRuns: 3000 },
    )
  })

  test("takes linear time", () => {
    const start = performance.now()
    expect(parseCookies(`a=b${" ".repeat(2_000_000)}c`).size).toBe(1)
    expect(parseCookies("=".repeat(2_000_000)).size).toBe(1)
    // In milliseconds. With quadratic time it would be hours.
    expect(performance.now() - start).toBeLessThan(5000)
  })
})
