import type { Cluster } from "./member-state.js"

/**
 * The consistency of reads: "fresh" reads see all writes that were acknowledged before, on every member; "older" reads
 * may return somewhat older data.
 */
export type Freshness = "fresh" | "older"

/**
 * Returns the session settings for the consistency; none outside of a cluster.
 *
 * On several primaries each statement waits until the writes that the other primaries committed before it are applied.
 * Galera does so for reads (1), updates and deletes (2) and inserts (4): a foreign key may refer to a row that another
 * node has just inserted. In a group with one primary, only statements on a new primary wait, until it has applied all
 * that the old one committed.
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
    case "vitess":
    case undefined:
      return []
  }
}

/**
 * Returns the statement with its consistency on Vitess. By default a vttablet gives a read the answer of an equal one that runs
 * already, which may have begun before a write that was acknowledged since.
 */
export function consistentStatement(cluster: Cluster | undefined, sql: string): string {
  return cluster === "vitess" ? sql.replace(/^SELECT /, "SELECT /*vt+ CONSOLIDATOR=disabled */ ") : sql
}
