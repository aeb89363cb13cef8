import { CompactEncrypt } from "jose"
import { MissingSecret } from "./errors/error.js"
import { derivedKey, type Encryption, type KeyRules } from "./jwe/derived-key.js"
import { usableSecrets } from "./secrets.js"
import type { NextAuth4EncodeParams } from "./types.js"

/** The default lifetime of a token, in seconds: 30 days (contract, section 8). */
const defaultMaxAge = 2_592_000

const utf8 = new TextEncoder()

/** Issues a token as `encode` or `nextAuth4.encode` does, at a time in milliseconds since 1970. */
export async function issue<Payload>(
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
