import type { SqlEngine } from "../engine/engine.js"
import type { Freshness } from "../engine/mysql/consistency.js"
import { type MysqlEngine, mysqlEngine } from "../engine/mysql/mysql.js"
import { openServerDataSource } from "../engine/mysql/mysql-data-source.js"
import type { ServerLocation } from "../engine/url/url.js"
import { type Locator, locator } from "./locate.js"
import { followMembers, type Members, type MembersOptions } from "./members.js"

export interface ServerOptions {
  poolSize: number
  statementTimeoutMs: number
  connectTimeoutMs: number
  freshness: Freshness
  onTrouble?: (() => void) | undefined
}

export type ClusterOptions = ServerOptions & Pick<MembersOptions, "onChange">

/** Opens the engine of a MySQL or MariaDB server. Throws StatementError. */
export async function openServer(location: ServerLocation, options: ServerOptions): Promise<MysqlEngine> {
  const engine = mysqlEngine({ ...(await openServerDataSource(location, options)), ...options })
  try {
    const first = await engine.connect()
    first.release()
    return engine
  } catch (error) {
    await engine.close()
    throw error
  }
}

/**
 * Opens the server for writes: a single server, or the member of a cluster that accepts writes, which is followed from
 * then on. This choice is made once, and the lookup of a single name for it may take `connectTimeoutMs`. Throws
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
 * Opens a member for reads that may return somewhat older data. While there is none, a request for a connection fails
 * at once.
 *
 * @param writer the engine that builds the statements.
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
  // A read that fails here is sent to the writer instead of waiting.
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

/**
 * Creates the engine that forwards to the member in use.
 *
 * @param first the engine of any member. It builds the statements, which are the same for all members.
 */
function clusterEngine(first: SqlEngine, members: Members): SqlEngine {
  return {
    ...first,
    hasOtherMembers: true,
    connect: async () => (await members.engine()).connect(),
    withQueryRunner: async (work) => (await members.engine()).withQueryRunner(work),
    withSchemaLock: async (work) => (await members.engine()).withSchemaLock(work),
    close: members.close,
  }
}
