/** The parts of a request that determine where a browser is redirected. */
export interface RequestTarget {
  readonly method: string
  /** `http` or `https`. */
  readonly scheme: string
  /** Its host, perhaps with a port. */
  readonly host: string
  /** Its path with its query, as the client sent it. */
  readonly path: string
}

/** The longest path to which a browser returns after the sign-in, in characters. */
const maxPathLength = 2_048

/** Returns whether a browser requests a page to show. Other clients cannot use the sign-in page. */
export function isPageNavigation(method: string, header: (name: string) => string | undefined): boolean {
  if (method !== "GET" && method !== "HEAD") return false
  const mode = header("sec-fetch-mode")
  if (mode !== undefined && mode !== "navigate") return false
  return /(^|[\s,])text\/html\s*($|[;,])/i.test(header("accept") ?? "")
}

/**
 * Returns the address of the sign-in page, with the address to return to as `callbackUrl`. Nothing of the request is
 * elsewhere in it. `callbackUrl` is omitted if scheme, host and path form no URL, or one that is too long.
 *
 * @param signIn See `Policy`.
 */
export function signInLocation(signIn: string, target: RequestTarget): string {
  const { scheme, host, path } = target
  const isUrl =
    /^https?$/.test(scheme) &&
    /^(?:[a-z0-9](?:[a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i.test(host) &&
    /^\/[\x21-\x7e]*$/.test(path) &&
    path.length <= maxPathLength
  if (!isUrl) return signIn
  return `${signIn}${signIn.includes("?") ? "&" : "?"}callbackUrl=${encodeURIComponent(`${scheme}://${host}${path}`)}`
}
