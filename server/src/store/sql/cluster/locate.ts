import { lookup } from "node:dns/promises"
import { isIP } from "node:net"
import { orAborted } from "../../../util/abort.js"
import type { ServerLocation } from "../engine/url.js"

/** A name service that is silent must not keep anybody from members that are known. */
const maxLookupMs = 1000

/**
 * Where the members of a cluster are: each host that was named, and each address of a name that has several. A name that
 * cannot be looked up stands as it is: who connects to it gets the error.
 */
export async function locate(named: readonly ServerLocation[]): Promise<ServerLocation[]> {
  return (await Promise.all(named.map(addressesOf))).flat()
}

async function addressesOf(location: ServerLocation): Promise<ServerLocation[]> {
  const { host, socketPath } = location
  // That name has the two addresses of one machine.
  if (socketPath !== undefined || isIP(host) !== 0 || host === "localhost") return [location]
  try {
    const found = await orAborted(lookup(host, { all: true }), AbortSignal.timeout(maxLookupMs))
    return found.length === 1 ? [location] : found.map(({ address }) => ({ ...location, address }))
  } catch {
    return [location]
  }
}
