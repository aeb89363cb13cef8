import type { Connection, RowDataPacket } from "mysql2/promise"
import { StatementError } from "../engine/statement-error.js"

/** What a server is a member of. */
export type Cluster = "galera" | "single-primary" | "multi-primary"

/** What a server says of itself. A reason that is undefined means that nothing is in the way. */
export interface MemberState {
  /** What it is configured to be a member of. */
  cluster: Cluster | undefined
  /** Why it takes no writes. */
  noWrites: string | undefined
  /** Why even what may be somewhat older should not be read from it. */
  noReads: string | undefined
}

type Reasons = Omit<MemberState, "cluster">

const names = [
  "group_replication_group_name",
  "group_replication_single_primary_mode",
  "read_only",
  "server_uuid",
  "wsrep_on",
]

/** The kind of cluster that a server of MySQL or MariaDB is configured for, whether it has joined it or not. */
export async function clusterOf(connection: Connection): Promise<Cluster | undefined> {
  return kindOf(await show(connection, "VARIABLES", names))
}

/**
 * Asks a server of MySQL or MariaDB. SHOW is what a node of Galera answers also without its quorum. Throws the driver's
 * errors, and StatementError where the user lacks a privilege.
 */
export async function memberState(connection: Connection): Promise<MemberState> {
  const settings = await show(connection, "VARIABLES", names)
  const kind = kindOf(settings)
  let state: Reasons = { noWrites: undefined, noReads: undefined }
  if (kind === "galera") state = await galeraState(connection)
  else if (kind !== undefined) state = await groupState(connection, settings.get("server_uuid"))
  const isReadOnly = settings.get("read_only") !== "OFF"
  return { ...state, cluster: kind, noWrites: state.noWrites ?? (isReadOnly ? "it is read-only" : undefined) }
}

function kindOf(settings: ReadonlyMap<string, string>): Cluster | undefined {
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
  // A server that has not joined its group may take writes all the same, and the group would never have them.
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
