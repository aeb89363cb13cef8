import type { Connection, RowDataPacket } from "mysql2/promise"
import { StatementError } from "../../query/statement-error.js"

/** The kinds of clusters. One of Vitess looks like one server: vtgate, which finds the primary itself. */
export type Cluster = "galera" | "single-primary" | "multi-primary" | "vitess"

/** The state of a server, as reported by itself. An undefined reason means that there is no obstacle. */
export interface MemberState {
  /** The kind of cluster that the server is configured for. */
  cluster: Cluster | undefined
  /** Why the server does not accept writes. */
  noWrites: string | undefined
  /** Why the server should not even be used for reads that may return somewhat older data. */
  noReads: string | undefined
}

type Reasons = Omit<MemberState, "cluster">

const names = [
  "group_replication_group_name",
  "group_replication_single_primary_mode",
  "read_only",
  "server_uuid",
  "version",
  "wsrep_on",
]

/** Returns the kind of cluster that a MySQL or MariaDB server is configured for, whether it has joined it or not. */
export async function clusterOf(connection: Connection): Promise<Cluster | undefined> {
  return kindOf(await show(connection, "VARIABLES", names))
}

/**
 * Queries the state of a MySQL or MariaDB server. It uses SHOW, which a Galera node answers even without quorum. Throws
 * the driver's errors, and StatementError if the user lacks a privilege.
 */
export async function memberState(connection: Connection): Promise<MemberState> {
  const settings = await show(connection, "VARIABLES", names)
  const kind = kindOf(settings)
  let state: Reasons = { noWrites: undefined, noReads: undefined }
  if (kind === "galera") state = await galeraState(connection)
  else if (kind?.endsWith("-primary")) state = await groupState(connection, settings.get("server_uuid"))
  const isReadOnly = settings.get("read_only") !== "OFF"
  return { ...state, cluster: kind, noWrites: state.noWrites ?? (isReadOnly ? "it is read-only" : undefined) }
}

/** Returns whether the version of a server is that of vtgate. */
export const isVitess = (version: string | undefined): boolean => version?.endsWith("-Vitess") ?? false

function kindOf(settings: ReadonlyMap<string, string>): Cluster | undefined {
  if (isVitess(settings.get("version"))) return "vitess"
  if (settings.get("wsrep_on") === "ON") return "galera"
  if (!settings.get("group_replication_group_name")) return undefined
  return settings.get("group_replication_single_primary_mode") === "ON" ? "single-primary" : "multi-primary"
}

async function galeraState(connection: Connection): Promise<Reasons> {
  const status = await show(connection, "STATUS", ["wsrep_cluster_status", "wsrep_ready"])
  const isReady = status.get("wsrep_ready") === "ON" && status.get("wsrep_cluster_status") === "Primary"
  const reason = isReady ? undefined : "it is not in the primary component of its cluster, or not ready yet"
  return { noWrites: reason, noReads: reason }
}

async function groupState(connection: Connection, ownId: string | undefined): Promise<Reasons> {
  const members = await groupMembers(connection)
  const own = members.find(({ id }) => id === ownId)
  const reachable = members.filter(({ state }) => state !== "UNREACHABLE").length
  // A server that has not joined its group may accept writes nevertheless, and the group would never get them.
  if (own?.state !== "ONLINE") return neither("it is not online in its group")
  if (reachable * 2 <= members.length) return neither("it does not reach the majority of its group")
  return { noWrites: own.role === "PRIMARY" ? undefined : "it is a secondary", noReads: undefined }
}

function neither(reason: string): Reasons {
  return { noWrites: reason, noReads: reason }
}

async function groupMembers(connection: Connection): Promise<RowDataPacket[]> {
  const table = "performance_schema.replication_group_members"
  try {
    const [rows] = await connection.query<RowDataPacket[]>(
      `SELECT MEMBER_ID AS id, MEMBER_STATE AS state, MEMBER_ROLE AS role FROM ${table}`,
    )
    return rows
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== "ER_TABLEACCESS_DENIED_ERROR") throw error
    throw new StatementError("unavailable", `the user needs SELECT on ${table}`)
  }
}

async function show(connection: Connection, what: "VARIABLES" | "STATUS", wanted: readonly string[]) {
  const list = wanted.map((name) => `'${name}'`).join(", ")
  const [rows] = await connection.query<RowDataPacket[]>(`SHOW GLOBAL ${what} WHERE Variable_name IN (${list})`)
  return new Map<string, string>(rows.map(({ Variable_name: name, Value: value }) => [name, value]))
}
