import { encode } from "@auth/core/jwt"
import { hkdf } from "@panva/hkdf"
import {
  base64url,
  CompactEncrypt,
  type CompactJWEHeaderParameters,
  calculateJwkThumbprint,
  compactDecrypt,
} from "jose"

/**
 * The time of issue of the tokens, which is also the frozen time of tests that need one: 2026-01-01, in seconds since
 * 1970.
 */
export const issued = 1_767_225_600
/**
 * The time of expiry of the tokens, in seconds since 1970: 2100-01-01, so that they are also valid for readers with a
 * real clock.
 */
export const end = 4_102_444_800

export const secret = "k3Jw0pY8sVn5rTqLx2ZbHc7MfDgUaE9i"
export const oldSecret = "Qh6tWm1XzRs4VdKy8NcPb3LgJf0UeA7o"
export const olderSecret = "fT2oYp9GxQv7BkMw5HsRz1DnCj6LaE8u"
export const cookie = "authjs.session-token"
export const secureCookie = `__Secure-${cookie}`

export const ada = {
  name: "Ada Lovelace",
  email: "ada@example.com",
  picture: "https://example.com/ada.png",
  sub: "0b9c1c55-6f5e-4b39-9a53-6a1d1a8e3d0c",
}

/** Returns the claims of a user who is a member of `count` groups. */
export const inGroups = (count: number) => ({
  ...ada,
  groups: Array.from({ length: count }, (_, index) => `cn=group-${index},ou=people,dc=example,dc=com`),
})

export type Claims = Record<string, unknown>

/** The inputs of a key derivation. The default of `enc` is A256CBC-HS512. */
export interface Key {
  secret: string
  salt: string
  enc?: "A256GCM"
}

/** A token and its claims. */
export interface Issued {
  token: string
  claims: Claims
}

/** Derives the content encryption key and its thumbprint. */
export async function derive({ secret, salt, enc }: Key) {
  const key = await hkdf("sha256", secret, salt, `Auth.js Generated Encryption Key (${salt})`, enc ? 32 : 64)
  const jwk = { kty: "oct", k: base64url.encode(key) }
  return { key, kid: await calculateJwkThumbprint(jwk, enc ? "sha256" : "sha512") }
}

/** Issues a token with @auth/core. The times of issue and expiry are in seconds since 1970. */
export async function byAuthCore(claims: Claims, key: Key, from = issued, to = end): Promise<Issued> {
  const token = await at(from, () => encode({ token: claims, secret: key.secret, salt: key.salt, maxAge: to - from }))
  const { plaintext } = await compactDecrypt(token, (await derive(key)).key)
  return { token, claims: JSON.parse(new TextDecoder().decode(plaintext)) }
}

/** Issues a token with jose, with any content and any header. A header parameter that is undefined is omitted. */
export async function byJose(content: unknown, from: Key, header: Claims = {}): Promise<string> {
  const { key, kid } = await derive(from)
  const bytes = content instanceof Uint8Array ? content : new TextEncoder().encode(JSON.stringify(content))
  const full = JSON.parse(JSON.stringify({ alg: "dir", enc: from.enc ?? "A256CBC-HS512", kid, ...header }))
  return new CompactEncrypt(bytes).setProtectedHeader(full as CompactJWEHeaderParameters).encrypt(key)
}

/** Adds the claims that @auth/core adds. */
export const complete = (claims: Claims, jti: string): Claims => ({ ...claims, iat: issued, exp: end, jti })

/** Runs a function with `Date` at a fixed time, in seconds since 1970: @auth/core takes `iat` and `exp` from it. */
async function at<T>(seconds: number, work: () => Promise<T>): Promise<T> {
  const RealDate = Date
  globalThis.Date = class extends RealDate {
    constructor() {
      super(seconds * 1000)
    }
    static override now = () => seconds * 1000
  } as DateConstructor
  try {
    return await work()
  } finally {
    globalThis.Date = RealDate
  }
}
