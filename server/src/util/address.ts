import { isIPv6 } from "node:net"

/** The address of a listener: a host or IP address, and a port (0 picks a free one). */
export interface Address {
  host: string
  port: number
}

/** Formats an address as in a URL: `127.0.0.1:50051`, `[::1]:50051`. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`
}

/** Returns whether an address is reachable only from this machine. */
export function isLoopback({ host }: Pick<Address, "host">): boolean {
  return /^(127(\.\d{1,3}){3}|localhost|::1)$/.test(host)
}

/**
 * Returns an IPv4 address that is mapped into IPv6 (RFC 4291, section 2.5.5.2) as IPv4, because a socket of both families reports
 * it so: `127.0.0.1` for `::ffff:127.0.0.1`. Returns every other text as it is.
 */
export function plainAddress(text: string): string {
  const url = `http://[${text}]`
  if (!isIPv6(text) || !URL.canParse(url)) return text
  // The parser writes each form of the address in the same way.
  const [, high, low] = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(new URL(url).hostname) ?? []
  if (high === undefined || low === undefined) return text
  return [high, low].flatMap((half) => [Number.parseInt(half, 16) >> 8, Number.parseInt(half, 16) & 255]).join(".")
}
