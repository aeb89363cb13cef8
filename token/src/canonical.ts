/** What the last character of a part may be by the part's length modulo 4, so that the bits it has too many are 0. */
const lastCharacters: Readonly<Record<number, string>> = { 2: "AQgw", 3: "AEIMQUYcgkosw048" }

/**
 * Whether a token that was decrypted is in the one form that an issuer gives it: base64url without white space, padding or
 * bits that say nothing (RFC 4648, section 3.5). Auth.js reads other forms too, and who has one token can make many of
 * them.
 */
export function isCanonical(token: string): boolean {
  if (/[^\w.-]/.test(token)) return false
  return token.split(".").every((part) => lastCharacters[part.length % 4]?.includes(part.slice(-1)) ?? true)
}
