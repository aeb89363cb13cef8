/** Octets in memory of their own: what WebCrypto takes. */
export type Octets = Uint8Array<ArrayBuffer>

/** Arguments of one call are limited in number. */
const chunk = 32_768

/** Octets in base64url without padding (RFC 7515, section 2). */
export function encodeBase64url(octets: Octets): string {
  let binary = ""
  for (let at = 0; at < octets.length; at += chunk) {
    binary += String.fromCharCode.apply(null, octets.subarray(at, at + chunk) as unknown as number[])
  }
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
}

/**
 * The octets of a text in base64url. Padding and white space are passed over, and so are the bits that the last
 * character has too many: RFC 7515 wants none of them, but Auth.js takes them.
 *
 * @throws DOMException if it is something else.
 */
export function decodeBase64url(text: string): Octets {
  if (text.includes("+") || text.includes("/")) throw new DOMException("no base64url", "InvalidCharacterError")
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"))
  const octets = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) octets[at] = binary.charCodeAt(at)
  return octets
}
