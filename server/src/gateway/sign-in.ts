/** A request, as far as it decides where a browser is sent. */
export interface RequestTarget {
  readonly method: string
  /** `http` or `https`. */
  readonly scheme: string
  /** Its host, perhaps with a port. */
  readonly host: string
  /** Its path with its query, as the client sent it. */
  readonly path: string
}

/** The longest path that somebody comes back to, in characters. */
const maxPathLength = 2_048

/** Whether a browser asks for a page to show: others can do nothing with the sign-in page. */
export function asksForPage(method: string, header: (name: string) => string | undefined): boolean {
  if (method !== "GET" && method !== "HEAD") return false
  const mode = header("sec-fetch-mode")
  if (mode !== undefined && mode !== "navigate") return false
  return /(^|[\s,])text\/html\s*($|[;,])/i.test(header("accept") ?? "")
}

/**
 * The address of the sign-in page, which is told by `callbackUrl` where to come back to. Nothing of the request gets
 * elsewhere in it. Without `callbackUrl` where scheme, host and path make no URL, or one that is too long.
 *
 * @param signIn As `Policy` has it.
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
