import { lookup as lookUp } from "node:dns/promises"
import { isIP } from "node:net"
import { orAborted } from "../../../util/abort.js"
import { peerSignal } from "../../../util/peer-timeout.js"
import type { ServerLocation } from "../engine/url/url.js"
import { StatementError } from "../query/statement-error.js"

/** The timeout of a lookup in milliseconds, so that a silent name service does not prevent the use of known members. */
const maxLookupMs = 1000

/** Returns all addresses of a host, like `lookup` of `node:dns/promises`. */
export type Lookup = (host: string, options: { all: true }) => Promise<readonly { address: string }[]>

/** Resolves the configured servers: each host, and each address of a name that has several. */
export interface Locator {
  /**
   * Resolves one server. Throws StatementError if there is no answer within `waitMs` milliseconds, because it must not
   * be guessed whether a name has one address or several.
   */
  one(named: ServerLocation, waitMs: number): Promise<ServerLocation[]>
  /**
   * Resolves all servers. If the lookup of a name fails or takes too long, its last known addresses are used. If there
   * are none, the name itself is used, and the attempt to connect reports the error.
   */
  all(): Promise<ServerLocation[]>
}

/** @param lookup Default: the system's lookup. */
export function locator(named: readonly ServerLocation[], lookup: Lookup = lookUp): Locator {
  const last = new Map<ServerLocation, ServerLocation[]>()

  async function one(location: ServerLocation, waitMs: number): Promise<ServerLocation[]> {
    const { host, socketPath } = location
    // The name `localhost` has two addresses of one machine.
    if (socketPath !== undefined || isIP(host) !== 0 || host === "localhost") return [location]
    const late = peerSignal(waitMs)
    try {
      const found = await orAborted(lookup(host, { all: true }), late)
      const locations = found.length === 1 ? [location] : found.map(({ address }) => ({ ...location, address }))
      last.set(location, locations)
      return locations
    } catch (error) {
      if (late.aborted) {
        throw new StatementError("unavailable", `the name service has not resolved ${host} within ${waitMs} ms`)
      }
      const { message, code } = error as NodeJS.ErrnoException
      throw new StatementError("unavailable", message, code)
    }
  }

  return {
    one,
    async all() {
      const found = named.map((location) => one(location, maxLookupMs).catch(() => last.get(location) ?? [location]))
      return (await Promise.all(found)).flat()
    },
  }
}
