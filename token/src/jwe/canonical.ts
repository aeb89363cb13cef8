/** The valid last characters of a part, by its length modulo 4, for which the unused bits are 0. */
const lastCharacters: Readonly<Record<number, string>> = { 2: "AQgw", 3: "AEIMQUYcgkosw048" }

/**
 * Returns whether a decrypted token is in the canonical form, in which issuers write it: base64url without white space,
 * padding or set unused bits (RFC 4648, section 3.5). Auth.js also accepts other forms, so that a client with one token
 * can create many of them.
 */
export function isCanonical(token: string): boolean {
  if (/[^\w.-]/.test(token)) return false
  return token.split(".").every((part) => lastCharacters[part.length % 4]?.includes(part.slice(-1)) ?? true)
}
