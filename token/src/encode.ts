import { CompactEncrypt } from "jose"
import { MissingSecret } from "./errors/error.js"
import {
  currentEncryption,
  derivedKey,
  type Encryption,
  type KeyRules,
  nextAuth4Encryption,
} from "./jwe/derived-key.js"
import { usableSecrets } from "./secrets.js"
import type { JWT, JWTEncodeParams, NextAuth4EncodeParams } from "./types.js"

/** The default lifetime of a token, in seconds: 30 days (contract, section 8). */
const defaultMaxAge = 2_592_000

const utf8 = new TextEncoder()

/**
 * Issues a token: the claims, encrypted as a compact JWE with `dir` and `A256CBC-HS512` (RFC 7518, sections 4.5 and
 * 5.2.5) with a key that is derived from the secret and the salt. Sets `iat`, `exp` and `jti`, and overwrites these
 * claims if they are given. Auth.js can decode the token, and this module can decode tokens of Auth.js (contract,
 * sections 4.2 and 5).
 *
 * The claims are converted to JSON as by JSON.stringify: a Date becomes a string, an undefined property is omitted.
 *
 * @throws MissingSecret if there is no secret, or the first of the list is empty. The others are not used in its place.
 * @throws TypeError if the claims are not an object or JSON cannot represent them, `maxAge` is not a finite number, or
 * the salt is not a string or longer than 989 bytes.
 * @example
 * ```ts
 * const salt = "authjs.session-token"
 * const token = await encode({ token: { sub: "5f2c", role: "admin" }, secret: [newSecret, oldSecret], salt, maxAge: 3600 })
 * ```
 */
export async function encode<Payload = JWT>(params: JWTEncodeParams<Payload>): Promise<string> {
  return encodeAt(Date.now(), params)
}

/** Issues a token as `encode` does, at a time in milliseconds since 1970. */
export async function encodeAt<Payload>(time: number, params: JWTEncodeParams<Payload>): Promise<string> {
  return issue(time, params, { enc: currentEncryption, salt: params.salt })
}

/** Issues a token as `nextAuth4.encode` does, at a time in milliseconds since 1970. */
export async function encodeNextAuth4At<Payload>(
  time: number,
  params: NextAuth4EncodeParams<Payload>,
): Promise<string> {
  return issue(time, params, { enc: nextAuth4Encryption, nextAuth4: true })
}

async function issue<Payload>(
  time: number,
  params: NextAuth4EncodeParams<Payload>,
  { enc, ...rules }: KeyRules & { enc: Encryption },
): Promise<string> {
  const { token = {}, secret, maxAge = defaultMaxAge } = params
  if (typeof token !== "object" || token === null || Array.isArray(token)) {
    throw new TypeError("the parameter token must be an object")
  }
  if (!Number.isFinite(maxAge)) throw new TypeError("the parameter maxAge must be a finite number of seconds")
  const [newest] = usableSecrets(Array.isArray(secret) ? secret.slice(0, 1) : secret)
  if (newest === undefined) throw new MissingSecret()
  const { key, kid } = await derivedKey(newest, enc, rules)
  const iat = Math.floor(time / 1000)
  const claims = JSON.stringify({ ...token, iat, exp: iat + maxAge, jti: crypto.randomUUID() })
  // next-auth 4 writes no `kid`.
  const header = rules.nextAuth4 ? { alg: "dir", enc } : { alg: "dir", enc, kid }
  return new CompactEncrypt(utf8.encode(claims)).setProtectedHeader(header).encrypt(key)
}
