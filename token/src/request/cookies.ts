import { trim } from "../trim.js"

// String.prototype.trim takes away more.
const blanks = " \t"

/**
 * The cookies of a Cookie header by name, read as Auth.js reads them: of several with one name the first counts, quotes
 * belong to the value, percent-encoding is decoded, and a value in which it is malformed stays as it is.
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
