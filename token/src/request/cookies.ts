import { trim } from "./trim.js"

// String.prototype.trim would remove more characters.
const blanks = " \t"

/**
 * Parses a Cookie header into a map from names to values, as Auth.js does. Of several cookies with the same name the
 * first counts. Quotes are part of the value. Percent-encoding is decoded, but a value with malformed percent-encoding
 * is left unchanged.
 */
export function parseCookies(header: string): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=")
    if (equals === -1) continue
    const name = trim(pair.slice(0, equals), blanks)
    if (!cookies.has(name)) cookies.set(name, percentDecoded(trim(pair.slice(equals + 1), blanks)))
  }
  return cookies
}

function percentDecoded(value: string): string {
  if (!value.includes("%")) return value
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
