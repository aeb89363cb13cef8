import { isIP } from "node:net"
import { addressesIn, isGlobal, isLoopbackAddress } from "./networks.js"

/** Where webhooks may go, beside global addresses. */
export interface Egress {
  /** Whether `http:` and loopback addresses are allowed, as with `--dev`. */
  dev: boolean
  /** The addresses and ranges in CIDR notation that `--webhook-allow-private` names. */
  allowPrivate: readonly string[]
}

/** The longest URL of a webhook, in bytes. */
const maxUrlBytes = 2048

/**
 * Returns the rule that a webhook's URL breaks, as a text that follows the name of the field; undefined if it breaks none.
 * A host name can be checked only when its addresses are known, which WebhookSender does for each delivery.
 */
export function brokenRule(url: string, egress: Egress): string | undefined {
  if (Buffer.byteLength(url) > maxUrlBytes) return `must have at most ${maxUrlBytes} bytes`
  if (/[\s\\]/.test(url) || !/^https?:\/\/[^/]/i.test(url) || !URL.canParse(url)) return "must be a URL with https://"
  const { protocol, hostname, username, password, port } = new URL(url)
  if (username !== "" || password !== "") return "must not contain a user name or a password"
  if (url.includes("#")) return "must not contain a fragment"
  if (port === "0") return "must not have port 0"
  const known = knownAddresses(hostname)
  if (protocol === "http:" && (!egress.dev || known?.every(isLoopbackAddress) !== true)) {
    return egress.dev
      ? "must be a URL with https://, or with http:// and a loopback address"
      : "must be a URL with https://"
  }
  const isAllowed = allowedAddresses(egress)
  if (known?.every(isAllowed) === false) return "must not be a private address, unless --webhook-allow-private names it"
  return undefined
}

/** Returns the function that decides whether a delivery may be sent to an address. */
export function allowedAddresses({ dev, allowPrivate }: Egress): (address: string) => boolean {
  const named = addressesIn(allowPrivate)
  return (address) => isGlobal(address) || named.has(address) || (dev && isLoopbackAddress(address))
}

/** Returns the addresses of a URL's host that are known without DNS: of an address, and of `localhost` (RFC 6761). */
export function knownAddresses(hostname: string): readonly string[] | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, "$1")
  if (isIP(host) !== 0) return [host]
  return /(^|\.)localhost\.?$/i.test(host) ? ["127.0.0.1", "::1"] : undefined
}
