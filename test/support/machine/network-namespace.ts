import { execFileSync } from "node:child_process"
import { randomBytes, randomInt } from "node:crypto"

// Loaded by jest and, for `hasNetworkNamespaces`, by Node as it is: so it imports no file of ours.

/** A host behind a cable that can be pulled: a network namespace, joined to this one by private addresses. */
export interface NetworkNamespace {
  /** The address of this side, and of the other. */
  readonly near: string
  readonly far: string
  /** What starts a program on the other side. */
  readonly prefix: readonly string[]
  /** Loses every packet from now on, without a word to anybody. */
  pull(): void
  /** Undoes it. */
  plug(): void
  remove(): void
}

/** Whether this process may make network namespaces: it needs `ip` (iproute2) and to be root. */
export function hasNetworkNamespaces(): boolean {
  try {
    createNetworkNamespace().remove()
    return true
  } catch {
    return false
  }
}

/** Four addresses that are nobody's (RFC 2544), and that no other namespace has, as `ip address` tells. */
function freeSubnet(taken: string): string {
  for (;;) {
    const [first, second] = [`198.18.${randomInt(256)}`, 4 * randomInt(64)]
    if (!taken.includes(` ${first}.${second + 1}/`)) return `${first}.${second}`
  }
}

export function createNetworkNamespace(): NetworkNamespace {
  const name = `authwire-${randomBytes(4).toString("hex")}`
  const cable = `aw${randomBytes(4).toString("hex")}`
  const ip = (...args: string[]) => execFileSync("ip", args, { stdio: "pipe", encoding: "utf8" })
  const subnet = freeSubnet(ip("-4", "-oneline", "address"))
  const [near, far] = [1, 2].map((offset) => subnet.replace(/\d+$/, (last) => `${Number(last) + offset}`)) as [
    string,
    string,
  ]
  const inside = (...args: string[]) => ip("-n", name, ...args)
  ip("netns", "add", name)
  try {
    ip("link", "add", cable, "type", "veth", "peer", "name", "cable", "netns", name)
    ip("address", "add", `${near}/30`, "dev", cable)
    inside("address", "add", `${far}/30`, "dev", "cable")
    ip("link", "set", cable, "up")
    inside("link", "set", "lo", "up")
    inside("link", "set", "cable", "up")
  } catch (error) {
    ip("netns", "delete", name)
    throw error
  }
  return {
    near,
    far,
    prefix: ["ip", "netns", "exec", name],
    pull: () => void inside("link", "set", "cable", "down"),
    plug: () => void inside("link", "set", "cable", "up"),
    remove() {
      // With its end of the cable the other goes too.
      ip("link", "delete", cable)
      ip("netns", "delete", name)
    },
  }
}
