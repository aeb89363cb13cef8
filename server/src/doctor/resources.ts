import type { DatabaseFacts } from "../store/sql/index.js"
import type { Diagnosis } from "./finding.js"

/** For the probe of health, and for API keys. */
const furtherConnections = 2
const minFreeBytes = 100 * 1024 ** 2

/** What a limit is, and how it is raised. */
const limits: Readonly<Record<DatabaseFacts["limits"][number]["of"], string>> = {
  server: "of the server: raise its max_connections",
  user: "of this user: raise it (ALTER USER … WITH MAX_USER_CONNECTIONS, or max_user_connections; ALTER ROLE … CONNECTION LIMIT)",
  database: "of the database: raise it (ALTER DATABASE … CONNECTION LIMIT)",
}

/**
 * Compares the limits of connections with what the processes of the service may open.
 *
 * @param processes How many have reported session caches. Others are not known, so that there is at least the one that is configured.
 */
export function diagnoseConnections(
  { limits: found }: Pick<DatabaseFacts, "limits">,
  { poolSize, processes }: { poolSize: number; processes: number },
): Diagnosis[] {
  const what = "connections"
  const known = Math.max(1, processes)
  const needed = known * (poolSize + furtherConnections)
  const whom =
    processes > 1 ? `${processes} processes that report session caches` : "one process (others are not known here)"
  const low = found.filter(({ most }) => most < needed)
  if (found.length === 0) return []
  if (low.length === 0) {
    const least = Math.min(...found.map(({ most }) => most))
    return [{ state: "ok", what, detail: `${least} are allowed, and ${whom} may open ${needed}` }]
  }
  return low.map(({ of, most }) => ({
    // Calls wait for the connections of their process, if it has some.
    state: most < poolSize + furtherConnections ? "wrong" : "warning",
    what,
    detail: `${most} are allowed, and ${whom} may open ${needed}, so calls wait or fail. It is the limit ${limits[of]}, or lower --database-pool-size`,
  }))
}

/** Checks the free space, where it is known. */
export function diagnoseSpace({ freeBytes }: Pick<DatabaseFacts, "freeBytes">): Diagnosis[] {
  if (freeBytes === undefined) return []
  const what = "free space"
  const detail = `${Math.floor(freeBytes / 1024 ** 2)} MiB`
  if (freeBytes >= minFreeBytes) return [{ state: "ok", what, detail }]
  return [{ state: "wrong", what, detail: `${detail}: all writes fail when it is full; free some, or move the file` }]
}
