import { type IntrospectRequest, IntrospectRequestSchema } from "@authwire/proto"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { createTokenModule, encode } from "@authwire/token"
import { create } from "@bufbuild/protobuf"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import fc from "fast-check"
import { SessionStore } from "../../node_modules/@auth/core/lib/utils/cookie.js"
import type { Call, CallerOfCall } from "../../server/src/rpc/call.js"
import { introspectionService } from "../../server/src/services/introspection.js"

// Generated headers, passed directly to the service with a real store. @auth/core's own SessionStore splits the
// cookies.

const plain = "authjs.session-token"
const names = [`__Host-${plain}`, `__Secure-${plain}`, plain] as const
const secret = "the secret of the applications"
const sessionTokens = ["0b0ad2f6-6b6d-4d0e-8a55-5d0a4d2a2f39", 'odd ;=,"%41/+é\u{1f98a} token', "x".repeat(16_384)]
/** JWTs by the name of their cookie: for one cookie, for three chunks, and for more than ten. */
const jwts = new Map<string, string[]>()

let drop: () => Promise<void>
let introspect: (request: IntrospectRequest) => Promise<{ active?: boolean; sub?: string }>

beforeAll(async () => {
  const database = await createStoreDatabase("sqlite")
  drop = database.drop
  const { users, sessions, signals } = await database.openStore()
  const caller = { tenant: "default" }
  await users.create(caller, { id: "ada", extra: {} })
  const expires = new Date(Date.now() + 3_600_000)
  for (const sessionToken of sessionTokens)
    await sessions.create(caller, { sessionToken, userId: "ada", expires, extra: {} })
  for (const name of names) {
    const paddings = [0, 7_000, 32_000].map((length) => "x".repeat(length))
    jwts.set(
      name,
      await Promise.all(paddings.map((padding) => encode({ token: { sub: "ada", padding }, secret, salt: name }))),
    )
  }
  const tokens = createTokenModule()
  const deps = { signals, sessions, tokens, secretsOf: () => [secret], secureCookie: false, onMissingUserId: () => {} }
  const service = introspectionService(deps)
  introspect = (request) => service.introspect(request, { tenant: "default" } as CallerOfCall, {} as Call)
})
afterAll(() => drop())

const ask = (headers: { name: string; value: string }[]) => introspect(create(IntrospectRequestSchema, { headers }))

const nameOfCookie = fc.constantFrom(...names)
const kind = fc.record({ isJwt: fc.boolean(), which: fc.nat(2) })
const tokenOf = (cookieName: string, { isJwt, which }: { isJwt: boolean; which: number }) =>
  (isJwt ? jwts.get(cookieName) : sessionTokens)?.[which] as string

/** Returns the cookies of a session as Auth.js sets them. Only JWTs are split. */
function cookiesOf(name: string, token: string, isJwt: boolean): string[] {
  const logger = { debug: () => {} }
  const store = new SessionStore({ name, options: {} } as never, {}, logger as never)
  const cookies = isJwt ? store.chunk(token, {}) : [{ name, value: token }]
  return cookies.map((cookie) => `${cookie.name}=${encodeURIComponent(cookie.value)}`)
}

const text = fc.string({ unit: "binary", maxLength: 40 }).filter((one) => one.isWellFormed())
/** Cookies with other names next to those of the session. */
const stray = fc.oneof(
  text.filter((one) => !one.includes("session-token")),
  fc.constantFrom(
    "theme=dark",
    "authjs.csrf-token=a%7Cb",
    `${plain}2=x`,
    `${plain}.x=y`,
    `${plain}-0=z`,
    `x${plain}=q`,
    "=",
    ";",
    "%",
  ),
)
const caseOf = fc.constantFrom("cookie", "Cookie", "COOKIE", "cOOkie")
const otherHeader = fc.record({
  name: text.filter((one) => !/^(cookie|authorization)$/i.test(one)),
  value: text,
})

test("a session is found next to other cookies, in any order, in any number of headers", async () => {
  const request = fc.record({
    cookieName: nameOfCookie,
    kind,
    strays: fc.array(stray, { maxLength: 6 }),
    others: fc.array(otherHeader, { maxLength: 4 }),
    order: fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
    cuts: fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }),
    as: caseOf,
  })
  await fc.assert(
    fc.asyncProperty(request, async ({ cookieName, kind, strays, others, order, cuts, as }) => {
      const own = cookiesOf(cookieName, tokenOf(cookieName, kind), kind.isJwt)
      const pairs = [...own, ...strays]
        .map((pair, at) => [pair, order[at] as number] as const)
        .toSorted(([, one], [, other]) => one - other)
        .map(([pair]) => pair)
      const lines: string[][] = [[]]
      pairs.forEach((pair, at) => {
        if (cuts[at]) lines.push([])
        lines.at(-1)?.push(pair)
      })
      const headers = [...others, ...lines.map((line) => ({ name: as, value: line.join("; ") }))]
      expect(await ask(headers)).toMatchObject({ active: true, sub: "ada" })
    }),
    { numRuns: 500 },
  )
})

/** Values that are similar to a token, but invalid. */
const near = fc.record({
  cookieName: nameOfCookie,
  usedName: nameOfCookie,
  kind,
  how: fc.constantFrom("changed", "cut", "longer", "doubled", "other case", "a chunk missing"),
  at: fc.nat(),
  by: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  bearer: fc.boolean(),
})

test("a value that is similar to a token gives no session, and no error", async () => {
  await fc.assert(
    fc.asyncProperty(near, async ({ cookieName, usedName, kind, how, at, by, bearer }) => {
      // Padding after base64url changes no byte.
      fc.pre(!(kind.isJwt && how === "longer" && by === "="))
      const token = tokenOf(cookieName, kind)
      // The last character of a part in base64url has unused bits, so an earlier character is changed.
      const places = [...token].flatMap((one, place) =>
        /[.]/.test(token[place + 1] ?? ".") || one === "." ? [] : [place],
      )
      const place = places[at % places.length] as number
      const changed = {
        changed: () => token.slice(0, place) + (token[place] === by ? "~" : by) + token.slice(place + 1),
        cut: () => token.slice(0, place),
        longer: () => token + by,
        doubled: () => token + token,
        "other case": () => (token.toUpperCase() === token ? token.toLowerCase() : token.toUpperCase()),
        "a chunk missing": () => token,
      }
        [how]()
        .toWellFormed()
      const cookies = cookiesOf(usedName, changed, kind.isJwt)
      if (how === "a chunk missing") cookies.splice(at % cookies.length, 1)
      const headers =
        bearer && how !== "a chunk missing"
          ? [{ name: "authorization", value: `Bearer ${encodeURIComponent(changed)}` }]
          : [{ name: "cookie", value: cookies.join("; ") }]
      expect(await ask(headers)).toEqual({ active: false })
    }),
    { numRuns: 1_000 },
  )
})

test("arbitrary headers give no session, and no error", async () => {
  const pair = fc
    .tuple(
      fc.constantFrom(...names, ...names.flatMap((name) => [`${name}.0`, `${name}.1`, `${name}.10`, `${name}.`]), ""),
      fc.oneof(text, fc.constantFrom("....", "e30..a.b.c", "eyJhbGciOiJkaXIifQ..a.b.c", "%", "%00", "%zz", '"')),
    )
    .map(([name, value]) => `${name}=${value}`)
  const header = fc.record({
    name: fc.oneof(caseOf, fc.constantFrom("authorization", "Authorization"), text),
    value: fc.oneof(
      fc.array(fc.oneof(pair, text), { maxLength: 8 }).map((pairs) => pairs.join("; ")),
      text.map((one) => `Bearer ${one}`),
    ),
  })
  const options = fc.record(
    { cookieName: fc.oneof(nameOfCookie, text), secureCookie: fc.boolean(), salt: text, withUser: fc.boolean() },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(header, { maxLength: 6 }), options, async (headers, more) => {
      expect(await introspect(create(IntrospectRequestSchema, { headers, ...more }))).toEqual({ active: false })
    }),
    { numRuns: 2_000 },
  )
})
