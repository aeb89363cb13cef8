import { ada, byAuthCore, cookie, type Issued, inGroups, issued, oldSecret, secret, secureCookie } from "./issue.ts"
import { otherFirst, withPart } from "./tamper.ts"
import type { RequestVector } from "./vector.ts"

type Options = Partial<Omit<RequestVector, "name" | "headers" | "payload">>
type Payload = RequestVector["payload"]

function vector(name: string, headers: RequestVector["headers"], payload: Payload, options: Options = {}) {
  const { differsFromAuthCore, secrets = [secret], ...rest } = options
  const marks = differsFromAuthCore && { differsFromAuthCore }
  return { name, ...marks, headers, ...rest, secrets, now: issued, payload }
}

/** Creates a request with one header Cookie that has these cookies. */
const cookies = (name: string, pairs: string[], payload: Payload, options?: Options) =>
  vector(name, [["Cookie", pairs.join("; ")]], payload, options)

/** Creates a request with one header Authorization. */
const bearer = (name: string, value: string, payload: Payload, options?: Options) =>
  vector(name, [["Authorization", value]], payload, options)

/** Returns the cookies in which Auth.js stores a token: chunks of 3936 characters if the token is longer than that. */
function chunks({ token }: Issued): string[] {
  const pieces = token.match(/.{1,3936}/g) ?? []
  return pieces.length === 1 ? [`${cookie}=${token}`] : pieces.map((piece, index) => `${cookie}.${index}=${piece}`)
}

const key = { secret, salt: cookie }
const differs = { differsFromAuthCore: true } as const

export async function requestVectors(): Promise<RequestVector[]> {
  const good = await byAuthCore(ada, key)
  const large = await byAuthCore(inGroups(90), key)
  const huge = await byAuthCore(inGroups(760), key)
  return [
    ...oneCookie(good),
    ...(await namesAndSecrets(good)),
    ...(await inChunks(good, large, huge)),
    ...bearers(good),
    ...raws(good, large),
  ]
}

function oneCookie({ token, claims }: Issued): RequestVector[] {
  const session = `${cookie}=${token}`
  return [
    cookies("the default cookie", [session], claims),
    vector(
      "among other headers",
      [
        ["Host", "a.example"],
        ["Cookie", session],
        ["Accept", "*/*"],
      ],
      claims,
    ),
    cookies("among other cookies", ["theme=dark", session, "authjs.csrf-token=abc%7Cdef", "lang=en"], claims),
    vector("header names in any case", [["cOOKIE", session]], claims),
    vector(
      "Cookie in two fields",
      [
        ["cookie", "theme=dark"],
        ["cookie", session],
      ],
      claims,
    ),
    cookies("blanks around names and values", ["a=b ", `\t ${cookie} = ${token} `, "c=d"], claims),
    cookies("a percent-encoded cookie", [`${cookie}=${token.replaceAll(".", "%2E")}`], claims),
    cookies("malformed percent-encoding in another cookie", ["bad=%E0%A4%A", session], claims),
    cookies("malformed percent-encoding in the cookie", [`${cookie}=%zz${token}`], null),
    cookies("a cookie in quotes", [`${cookie}="${token}"`], null),
    cookies("two cookies with one name: the first", [session, `${cookie}=x`], claims),
    cookies("two cookies with one name: the first, though bad", [`${cookie}=x`, session], null),
    cookies("a cookie's name in other case", [`${cookie.toUpperCase()}=${token}`], null),
    cookies("an empty cookie", [`${cookie}=`], null),
    cookies("no cookie of a session", ["theme=dark", "broken", "=", ""], null),
    vector("no headers", [], null),
    cookies("a tampered cookie", [`${cookie}=${withPart(token, 4, otherFirst)}`], null),
  ]
}

async function namesAndSecrets(good: Issued): Promise<RequestVector[]> {
  const secure = await byAuthCore(ada, { secret, salt: secureCookie })
  const own = await byAuthCore(ada, { secret, salt: "my.session" })
  const old = await byAuthCore(ada, { secret: oldSecret, salt: cookie })
  const expired = await byAuthCore(ada, key, 978_307_200, 978_310_800)
  const session = [`${cookie}=${good.token}`]
  const secureSession = [`${secureCookie}=${secure.token}`]
  return [
    cookies("the secure cookie", secureSession, secure.claims, { secureCookie: true }),
    cookies("the plain cookie where the secure one is wanted", session, null, { secureCookie: true }),
    cookies("the secure cookie where the plain one is wanted", secureSession, null, { secureCookie: false }),
    cookies("a name, which is the salt", [`my.session=${own.token}`], own.claims, { cookieName: "my.session" }),
    cookies("a name and a salt", [`sid=${own.token}`], own.claims, { cookieName: "sid", salt: "my.session" }),
    cookies("a wrong salt", session, null, { salt: "my.session" }),
    cookies("a wrong secret", session, null, { secrets: [oldSecret] }),
    cookies("rotation: of the old secret", [`${cookie}=${old.token}`], old.claims, { secrets: [secret, oldSecret] }),
    cookies("an expired cookie", [`${cookie}=${expired.token}`], null),
  ]
}

async function inChunks(good: Issued, large: Issued, huge: Issued): Promise<RequestVector[]> {
  const session = `${cookie}=${good.token}`
  const pieces = chunks(large)
  const later = await byAuthCore(inGroups(90), key, issued + 60)
  const strays = [`${cookie}.x=stray`, `${cookie}.1.2=stray`, `${cookie}.01=stray`]
  const leftOver = `${cookie}.${pieces.length}=stale`
  return [
    cookies("chunks", pieces, large.claims),
    cookies("chunks out of order", pieces.toReversed(), large.claims),
    vector(
      "chunks in Cookie fields of their own",
      pieces.map((piece) => ["cookie", piece]),
      large.claims,
    ),
    cookies("chunks beside a name that begins alike", [`${cookie}-other=stray`, ...pieces], large.claims, differs),
    cookies("chunks beside names that are almost chunks", [...pieces, ...strays], large.claims, differs),
    cookies("a cookie beside a name that begins alike", [`${cookie}-other=stray`, session], good.claims, differs),
    cookies("only a name that begins alike", [`${cookie}-other=${good.token}`], null, differs),
    cookies("the second chunk is missing", [pieces[0] as string, ...pieces.slice(2)], null),
    cookies("the first chunk is missing", pieces.slice(1), null),
    cookies("the last chunk is empty", [...pieces.slice(0, -1), `${cookie}.${pieces.length - 1}=`], null),
    cookies("a chunk left over from a longer token", [...pieces, leftOver], large.claims, differs),
    cookies("a chunk left over beside a whole cookie", [`${cookie}.0=stale`, session], good.claims, differs),
    cookies("a whole cookie left over beside chunks", [`${cookie}=stale`, ...pieces], large.claims, differs),
    cookies("a whole cookie of an earlier token", [session, ...chunks(later)], later.claims, differs),
    cookies("12 chunks in any order", shuffled(huge), huge.claims),
    cookies("12 chunks and one left over", [`${cookie}.12=stale`, ...shuffled(huge)], huge.claims, differs),
  ]
}

function shuffled(huge: Issued): string[] {
  const pieces = chunks(huge)
  const order = [7, 11, 0, 10, 3, 1, 9, 5, 2, 8, 6, 4]
  if (pieces.length !== order.length) throw new Error(`there should be 12 chunks, not ${pieces.length}`)
  return order.map((index) => pieces[index] as string)
}

function bearers({ token, claims }: Issued): RequestVector[] {
  const authorization: [string, string] = ["Authorization", `Bearer ${token}`]
  return [
    bearer("Bearer", `Bearer ${token}`, claims),
    bearer("Bearer, percent-encoded", `Bearer ${token.replaceAll(".", "%2E")}`, claims),
    bearer("Bearer, with something behind the token", `Bearer ${token} more`, claims),
    bearer("Bearer, malformed percent-encoding", "Bearer %E0%A4%A", null),
    bearer("Bearer without a token", "Bearer", null),
    bearer("Bearer with two spaces", `Bearer  ${token}`, null),
    bearer("bearer in lower case", `bearer ${token}`, null),
    bearer("another scheme", `Basic ${token}`, null),
    bearer("Bearer with a bad token", "Bearer a.b.c.d.e", null),
    vector("Bearer beside other cookies", [["Cookie", "theme=dark"], authorization], claims),
    vector("Bearer beside an empty cookie", [["Cookie", `${cookie}=`], authorization], claims),
    vector("Bearer beside a bad cookie", [["Cookie", `${cookie}=bad`], authorization], null),
    vector(
      "a cookie before Bearer",
      [
        ["Authorization", "Bearer bad"],
        ["Cookie", `${cookie}=${token}`],
      ],
      claims,
    ),
  ]
}

function raws({ token }: Issued, large: Issued): RequestVector[] {
  const raw = { raw: true } as const
  const pieces = chunks(large)
  const leftOver = `${cookie}.${pieces.length}=stale`
  return [
    cookies("raw: the cookie", [`${cookie}=${token}`], token, raw),
    cookies("raw: chunks", pieces.toReversed(), large.token, raw),
    cookies("raw: chunks and one left over", [leftOver, ...pieces], large.token, { ...raw, ...differs }),
    cookies("raw: anything, because it is not read", [`${cookie}=anything`], "anything", raw),
    cookies("raw: nothing", [], null, raw),
    bearer("raw: Bearer", `Bearer ${token.replaceAll(".", "%2E")}`, token, raw),
    bearer("raw: Bearer without a token", "Bearer", null, { ...raw, ...differs }),
  ]
}
