import { BlockList, isIP } from "node:net"

/** A range of addresses: the first one, and how many of its bits all of them share. */
export interface Network {
  address: string
  bits: number
  family: "ipv4" | "ipv6"
}

/** Reads an address or a range in CIDR notation, such as `10.1.0.0/16` or `fd00::1`; undefined for another text. */
export function networkOf(text: string): Network | undefined {
  const [, address = "", given] = /^([0-9A-Fa-f:.]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const [family, most] = isIP(address) === 4 ? (["ipv4", 32] as const) : (["ipv6", 128] as const)
  const bits = Number(given ?? most)
  return isIP(address) === 0 || bits > most ? undefined : { address, bits, family }
}

/** The addresses of ranges. An IPv4 address that is mapped into IPv6 (`::ffff:10.0.0.1`) counts as the IPv4 address. */
export function addressesIn(ranges: readonly string[]): { has(address: string): boolean } {
  const list = new BlockList()
  for (const range of ranges) {
    const network = networkOf(range)
    if (network !== undefined) list.addSubnet(network.address, network.bits, network.family)
  }
  return { has: (address) => list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6") }
}

/** The IPv4 addresses that the registry of IANA (RFC 6890) does not call global, and those that clouds give services. */
const special4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32", // Azure: the services of the host for its virtual machines.
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
]

/** Translates an IPv4 address in networks that have IPv6 only (NAT64, RFC 6052). */
const translated = "64:ff9b::"

const global6 = addressesIn(["2000::/3", `${translated}/96`])

const special = addressesIn([
  ...special4,
  ...special4.map((range) => {
    const [address, bits] = range.split("/")
    return `${translated}${address}/${96 + Number(bits)}`
  }),
  "2001::/23", // Protocols, such as Teredo, which embeds IPv4 addresses; benchmarks; ORCHID.
  "2001:db8::/32",
  "2002::/16", // 6to4, which embeds IPv4 addresses.
  "3fff::/20",
])

/** Whether an address is a global one of a single host. Every address of which this is not known is not. */
export function isGlobal(address: string): boolean {
  if (isIP(address) === 4) return !special.has(address)
  return isIP(address) === 6 && global6.has(address) && !special.has(address)
}

const loopback = addressesIn(["127.0.0.0/8", "::1"])

/** Whether an address is one of this machine. */
export const isLoopbackAddress = (address: string): boolean => loopback.has(address)
