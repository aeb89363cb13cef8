import type { IncomingHttpHeaders } from "node:http"
import { isLoopback } from "../../util/address.js"

/** The answer to a request that names another machine. */
export const foreignName =
  "with --dev only requests whose Host and Origin are loopback addresses, localhost, or names below localhost are answered"

/**
 * Returns whether a request names a loopback host, and no other one, as its host and as its origin. A page of a browser
 * can reach a loopback address under the name of its own site, by a change of that name's address (DNS rebinding). The
 * browser then treats the service as a part of that site, but still names it.
 */
export function namesLoopback(headers: IncomingHttpHeaders): boolean {
  const hosts = [headers[":authority"], headers.host].filter((host) => host !== undefined)
  const origins = [headers.origin].filter((origin) => origin !== undefined)
  return hosts.length > 0 && hosts.every((host) => isLoopbackHost(`http://${host}`)) && origins.every(isLoopbackHost)
}

function isLoopbackHost(origin: string | string[]): boolean {
  if (typeof origin !== "string" || !URL.canParse(origin)) return false
  // Only a host and a port: a URL could have a user before another host.
  const { hostname, host, protocol, href } = new URL(origin)
  if (href !== `${protocol}//${host}/`) return false
  // Browsers do not ask a name server for names below localhost (RFC 6761, section 6.3).
  return hostname.endsWith(".localhost") || isLoopback({ host: hostname.replace(/^\[(.*)\]$/, "$1") })
}
