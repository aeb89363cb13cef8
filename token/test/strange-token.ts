import { expect } from "@jest/globals"
import { derive } from "../vectors/issue.js"
import { base64url, forge } from "./forge.js"
import { authCores, joses, ours } from "./outcome.js"

// Tokens whose tag belongs to their header and content, however strange those are: only the checks are in question.

/** What the key is made of. */
export const from = { secret: "secret", salt: "salt" }
export const encs = ["A256CBC-HS512", "A256GCM"] as const
export type Enc = (typeof encs)[number]
/** The keys that belong to it. */
export const keys = {
  "A256CBC-HS512": await derive(from),
  A256GCM: await derive({ ...from, enc: "A256GCM" }),
}
/** A moment at which the content is valid, in seconds. */
export const now = 1_800_000_000
/** Claims that are valid then. */
export const content = JSON.stringify({ sub: "1", iss: "me", aud: ["a", "b"], exp: now + 60 })

/** A token with this text for a header, encoded or already so, and this content. */
export function token(
  header: string | Uint8Array,
  options: { enc?: Enc; encoded?: boolean; content?: string | Uint8Array } = {},
) {
  const { enc = "A256CBC-HS512", encoded = false } = options
  return forge({ key: keys[enc].key, enc, header: encoded ? String(header) : base64url(header), content, ...options })
}

export const read = (token: string) => ours({ ...from, token })

/** Fails if jose or @auth/core does something else with the token, be it new or seen before. */
export async function expectAsJose(token: string) {
  const expected = { token, ...(await joses(token, from.secret, from.salt)) }
  expect({ token, ...(await authCores({ ...from, token })) }).toEqual(expected)
  expect({ token, ...(await read(token)) }).toEqual(expected)
  if ("claims" in expected) expect({ token, ...(await read(token)) }).toEqual(expected)
}

/** A header with some of its members in other words: JSON text for a value, undefined for no member. */
export function headerText(change: Record<string, string | undefined>, enc: Enc = "A256CBC-HS512"): string {
  const members = { alg: '"dir"', enc: `"${enc}"`, kid: `"${keys[enc].kid}"`, ...change }
  const written = Object.entries(members).filter(([, value]) => value !== undefined)
  return `{${written.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`
}

/** JSON texts of every kind. */
export const values = [
  ...["null", "true", "false", "0", "1", "-1", "1e999", '""', '" "', '"x"', "[]", "{}", '[""]', '["x"]', '[["x"]]'],
  ...["[1]", "[null]", '["x","x"]', '["alg"]', '["exp"]', '["b64"]', '["__proto__"]', '["toString"]', '["x",1]'],
  ...['"dir"', '"DIR"', '"dir "', '["dir"]', '{"dir":1}', '"none"', '"A256KW"', '"ECDH-ES"', '"RSA-OAEP"'],
  ...['"PBES2-HS512+A256KW"', '"HS256"', '"A256CBC-HS512"', '["A256CBC-HS512"]', '"A256GCM"', '"a256gcm"'],
  ...['"A128CBC-HS256"', '"A192GCM"', '"toString"', '"constructor"', '"__proto__"', '"hasOwnProperty"'],
  ...['"me"', '"you"', '["a","b"]', '["b","a"]', '["a"]', '"a"', '"JWT"', '"at+jwt"', '"1"', '"\\u0000"', '"DEF"'],
  `"${keys.A256GCM.kid}"`,
  `"${keys["A256CBC-HS512"].kid}"`,
]
