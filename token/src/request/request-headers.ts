/** The headers that getToken reads. A missing header is an empty string. */
type TokenHeaders = { cookie: string; authorization: string }

// RFC 9113, section 8.2.3: several Cookie fields "MUST be concatenated into a single octet string using the two-octet
// delimiter of 0x3b, 0x20". RFC 9110, section 5.3, has the comma for all others.
const delimiters: TokenHeaders = { cookie: "; ", authorization: ", " }

// The white space that the class Headers removes around a value.
const whiteSpace = " \t\r\n"

/**
 * Converts a list of header names and values to the headers that getToken accepts. HTTP libraries represent raw
 * headers, and gRPC its metadata, as such a list. Names may have any case, repeat, and be in any order. Only `Cookie`
 * and `Authorization` are kept. Unlike the constructor of Headers, this function accepts every value without an error.
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

/** Returns the two headers of a Headers object or of a record. */
export function readHeaders(headers: Headers | Record<string, unknown> | null | undefined): TokenHeaders {
  if (hasGet(headers)) {
    return { cookie: headers.get("cookie") ?? "", authorization: headers.get("authorization") ?? "" }
  }
  // A record may differ from its type: Node's has lists of strings and undefined among the values.
  const pairs = Object.entries(headers ?? {}).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((one) => typeof one === "string")
      .map((one) => [name, one] as const),
  )
  return requestHeaders(pairs)
}

/** Recognizes Headers by their method `get`: those of another realm or library are of another class. */
function hasGet(headers: object | null | undefined): headers is Headers {
  return typeof headers === "object" && headers !== null && "get" in headers && typeof headers.get === "function"
}

/** Removes leading and trailing characters that are among the given ones. Takes linear time. */
export function trim(text: string, characters: string): string {
  let start = 0
  let end = text.length
  while (start < end && characters.includes(text.charAt(start))) start++
  while (end > start && characters.includes(text.charAt(end - 1))) end--
  return text.slice(start, end)
}
