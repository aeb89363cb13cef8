import type { SqlEngine } from "../engine/engine.js"
import { openServer, type ServerOptions } from "../engine/server.js"
import type { ServerLocation } from "../engine/url.js"
import { clusterEngine } from "./engine.js"
import { type Locator, locator } from "./locate.js"
import { followMembers, type MembersOptions } from "./members.js"

export type ClusterOptions = ServerOptions & Pick<MembersOptions, "onChange">

/**
 * Opens the server that takes writes: the only one that is named, or a member of a cluster, of which it follows the one
 * that does. Which of the two it is stays so: of a single name the addresses are waited for, for `connectTimeoutMs`. Throws
 * StatementError.
 */
export async function openWriter(named: readonly ServerLocation[], options: ClusterOptions): Promise<SqlEngine> {
  const addresses = locator(named)
  const [first, ...further] = named
  if (first !== undefined && further.length === 0) {
    const [only, ...others] = await addresses.one(first, options.connectTimeoutMs)
    if (only !== undefined && others.length === 0) return openServer(only, options)
  }
  const members = await follow(addresses, options, {
    unfit: ({ noWrites }) => noWrites,
    isOnlyFit: ({ cluster }) => cluster === "single-primary",
    waitMs: options.connectTimeoutMs,
  })
  try {
    return clusterEngine(await members.engine(), members)
  } catch (error) {
    await members.close()
    throw error
  }
}

/**
 * Opens a member for what may be somewhat older. While there is none, whoever asks for a connection is told so at once.
 *
 * @param writer where the members have their statements from.
 */
export async function openReader(
  named: readonly ServerLocation[],
  writer: SqlEngine,
  options: ClusterOptions,
): Promise<SqlEngine> {
  const members = await follow(locator(named), options, {
    unfit: ({ noReads }) => noReads,
    isOnlyFit: () => false,
    waitMs: 0,
  })
  // Who does not get it here asks the writer, rather than to wait.
  return { ...clusterEngine(writer, members), hasOtherMembers: false }
}

async function follow(
  addresses: Locator,
  options: ClusterOptions,
  fitness: Pick<MembersOptions, "unfit" | "isOnlyFit" | "waitMs">,
) {
  let suspect = () => {}
  const open = (location: ServerLocation) => openServer(location, { ...options, onTrouble: () => suspect() })
  const members = await followMembers({ locate: addresses.all, ...fitness, open, onChange: options.onChange })
  suspect = members.suspect
  return members
}
