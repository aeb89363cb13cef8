import type { Cluster } from "./member-state.js"

/** Whether reads see all that was acknowledged before them, on whichever member, or what may be somewhat older. */
export type Freshness = "fresh" | "older"

/**
 * What a session sets for that; nothing outside of a cluster.
 *
 * On several primaries each statement waits for what the others have committed before it. Galera does so for reads (1),
 * changes and deletions (2) and insertions (4): a foreign key may lead to a row that another node has just been given. In
 * a group with one primary only those who come to a new primary wait, until it has what the old one had committed.
 */
export function consistencySetting(cluster: Cluster | undefined, freshness: Freshness): string[] {
  const isFresh = freshness === "fresh"
  switch (cluster) {
    case "galera":
      return [`wsrep_sync_wait = ${isFresh ? 7 : 0}`]
    case "multi-primary":
      return [`group_replication_consistency = '${isFresh ? "BEFORE" : "EVENTUAL"}'`]
    case "single-primary":
      return [`group_replication_consistency = '${isFresh ? "BEFORE_ON_PRIMARY_FAILOVER" : "EVENTUAL"}'`]
    case undefined:
      return []
  }
}
