import { lookup as lookUp } from "node:dns/promises"
import { isIP } from "node:net"
import { orAborted } from "../../../util/abort.js"
import { StatementError } from "../engine/statement-error.js"
import type { ServerLocation } from "../engine/url.js"

/** A name service that is silent must not keep anybody from members that are known. */
const maxLookupMs = 1000

/** All addresses of a host, as `lookup` of `node:dns/promises` finds them. */
export type Lookup = (host: string, options: { all: true }) => Promise<readonly { address: string }[]>

/** Finds out where the servers are that were named: each host, and each address of a name that has several. */
export interface Locator {
  /**
   * Where one of them is. Throws StatementError when nobody says so within `waitMs`, in milliseconds: whether a name has one
   * address or several is not to be guessed.
   */
  one(named: ServerLocation, waitMs: number): Promise<ServerLocation[]>
  /**
   * Where all of them are. A name that cannot be looked up soon stands for the addresses that it had last; if it had none, it
   * stands as it is: who connects to it gets the error.
   */
  all(): Promise<ServerLocation[]>
}

/** @param lookup Default: asks the system. */
export function locator(named: readonly ServerLocation[], lookup: Lookup = lookUp): Locator {
  const last = new Map<ServerLocation, ServerLocation[]>()

  async function one(location: ServerLocation, waitMs: number): Promise<ServerLocation[]> {
    const { host, socketPath } = location
    // That name has the two addresses of one machine.
    if (socketPath !== undefined || isIP(host) !== 0 || host === "localhost") return [location]
    const late = AbortSignal.timeout(waitMs)
    try {
      const found = await orAborted(lookup(host, { all: true }), late)
      const locations = found.length === 1 ? [location] : found.map(({ address }) => ({ ...location, address }))
      last.set(location, locations)
      return locations
    } catch (error) {
      if (late.aborted) {
        throw new StatementError(
          "unavailable",
          `the name service has not told the addresses of ${host} in ${waitMs} ms`,
        )
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
