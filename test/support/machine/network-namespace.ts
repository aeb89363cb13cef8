import { execFileSync } from "node:child_process"
import { randomBytes, randomInt } from "node:crypto"

// Loaded by jest and, for `hasNetworkNamespaces`, by Node directly, so it imports no other file of this repository.

/**
 * A simulated host with a cable that can be unplugged: a network namespace, linked to this one by private addresses.
 */
export interface NetworkNamespace {
  /** The addresses of this side and of the other side. */
  readonly near: string
  readonly far: string
  /** The command prefix that starts a program on the other side. */
  readonly prefix: readonly string[]
  /** Silently drops every packet from now on. */
  pull(): void
  /** Undoes `pull`. */
  plug(): void
  remove(): void
}

/** Whether this process can create network namespaces. That requires `ip` (iproute2) and root. */
export function hasNetworkNamespaces(): boolean {
  try {
    createNetworkNamespace().remove()
    return true
  } catch {
    return false
  }
}

/**
 * Chooses four addresses of the range for tests (RFC 2544) that no other namespace has, by the output of `ip address`.
 */
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
      // Deleting one end of the cable deletes the other end too.
      ip("link", "delete", cable)
      ip("netns", "delete", name)
    },
  }
}
