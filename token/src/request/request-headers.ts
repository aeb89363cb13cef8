import { trim } from "../trim.js"

/** What getToken reads of a request; an empty string where a header is missing. */
type TokenHeaders = { cookie: string; authorization: string }

// RFC 9113, section 8.2.3: several Cookie fields "MUST be concatenated into a single octet string using the two-octet
// delimiter of 0x3b, 0x20". RFC 9110, section 5.3, has the comma for all others.
const delimiters: TokenHeaders = { cookie: "; ", authorization: ", " }

// What Headers takes away around a value.
const whiteSpace = " \t\r\n"

/**
 * The headers of a request for getToken, from a list of names and values, as HTTP libraries give raw headers and gRPC
 * carries them: names in any case, a name several times, in any order. Only `Cookie` and `Authorization` are kept.
 * No value makes it throw, unlike the constructor of Headers.
 *
 * @example
 * ```ts
 * const headers = requestHeaders([["Cookie", "a=1"], ["cookie", "authjs.session-token=…"]])
 * const claims = await getToken({ req: { headers }, secret })
 * ```
 */
export function requestHeaders(pairs: Iterable<readonly [name: string, value: string]>): TokenHeaders {
  const values: Record<keyof TokenHeaders, string[]> = { cookie: [], authorization: [] }
  for (const [name, value] of pairs) {
    const known = name.toLowerCase()
    if (known === "cookie" || known === "authorization") values[known].push(trim(value, whiteSpace))
  }
  return {
    cookie: values.cookie.join(delimiters.cookie),
    authorization: values.authorization.join(delimiters.authorization),
  }
}

/** The two headers of a Headers object or of a record. */
export function readHeaders(headers: Headers | Record<string, unknown> | null | undefined): TokenHeaders {
  if (hasGet(headers)) {
    return { cookie: headers.get("cookie") ?? "", authorization: headers.get("authorization") ?? "" }
  }
  // A record may be of another make than its type says: Node's has lists of strings and undefined among the values.
  const pairs = Object.entries(headers ?? {}).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((one) => typeof one === "string")
      .map((one) => [name, one] as const),
  )
  return requestHeaders(pairs)
}

/** Whether these are Headers, by what they can do: those of another realm or library are of another class. */
function hasGet(headers: object | null | undefined): headers is Headers {
  return typeof headers === "object" && headers !== null && "get" in headers && typeof headers.get === "function"
}
