import { StoreError } from "../../../errors/store-error.js"
import type { ExpiredRows, SessionStore } from "../../store.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { type Cell, statement } from "../query/statement.js"
import { deleteByKeys } from "../schema/delete-by-keys.js"
import type { SessionPolicyRow, SessionRow } from "../schema/rows.js"
import { lockedPolicies } from "./session-policies.js"
import { sessionRules } from "./session-rules.js"

/** Creates the method `revokeAll` of the session store. */
export function revocationOfAll(
  database: Database,
  { clock, eventOf }: { clock: () => number; eventOf: EventOf },
): SessionStore["revokeAll"] {
  const { sessionPolicies: policies } = database.tables
  const locked = lockedPolicies(database)
  const write = policies.statement(
    policies.updateOf("revokedBefore", "revoking").where(policies.keyIs()),
    ...policies.key,
    "revokedBefore",
    "revoking",
  )
  return (caller, { createdBefore, provider }) =>
    locked(caller, provider ?? "", async (sql, row) => {
      // The clock is read when the row is locked: every session that was created before the call has an earlier time.
      const now = clock()
      if (createdBefore !== undefined && createdBefore.getTime() > now)
        throw new StoreError("INVALID_FIELD", "must not be in the future", { field: "created_before" })
      const wanted = createdBefore ?? new Date(now + 1)
      const { tenant, revokedBefore } = row
      const isLater = revokedBefore === undefined || revokedBefore === null || revokedBefore < wanted
      const mark = isLater ? wanted : revokedBefore
      const marks = { revokedBefore: mark, revoking: isLater ? new Date(now) : row.revoking }
      const event = eventOf(caller, "all_sessions.revoked", { provider })
      await sql.write(write, { tenant, provider: row.provider, ...marks }, event)
      return mark
    })
}

/** Returns whether sessions of the tenant that `revokeAll` has ended may still have rows. */
export async function hasRevokedSessions(database: Database, tenant: string): Promise<boolean> {
  const { sessionPolicies: policies } = database.tables
  const select = policies.selectFrom("p").select("p.provider").where("p.tenant = :tenant AND p.revoking IS NOT NULL")
  return (await database.reads({}).read(policies.statement(select, "tenant"), { tenant })).length > 0
}

/** The most sessions that one batch examines. */
const examinedAtOnce = 1000

const earliest = new Date("1000-01-01T00:00:00.000Z")

/** How much the clocks of two processes may differ: more makes a process say so. In milliseconds. */
const clockMarginMs = 1_000

interface Slice {
  tenant: string
  after: Cell
  end: Cell
}

/**
 * Creates the deletion of sessions that `revokeAll` has ended. It examines the sessions of a tenant in the order of their
 * primary key, a slice in each batch and all marks at once. A process that takes over begins again. Of two processes each
 * deletes what the other has not deleted yet.
 *
 * A round has the marks that were set before it began, so that a caller who sets marks again and again does not keep it from
 * its end, and all tables after it from their turn.
 */
export function revokedSessions(database: Database): ExpiredRows {
  const { sessions, sessionPolicies: policies } = database.tables
  const rules = sessionRules(database)
  const timeCell = (moment: Date) => policies.cell("revoking", moment)
  const next = statement<SessionPolicyRow, { due: Date }>(
    policies
      .selectFrom("p")
      .select("p.tenant")
      .where("p.revoking >= :earliest AND p.revoking <= :due")
      .orderBy("p.revoking")
      .limit(1),
    { earliest: () => timeCell(earliest), due: ({ due }) => timeCell(due) },
  )
  const ended = statement<SessionPolicyRow, { tenant: string; until: Date }>(
    policies
      .updateOf()
      .set({ revoking: () => "NULL" })
      .where("tenant = :tenant AND revoking <= :until"),
    { tenant: ({ tenant }) => policies.cell("tenant", tenant), until: ({ until }) => timeCell(until) },
  )
  const tenantCell = ({ tenant }: Pick<Slice, "tenant">) => sessions.cell("tenant", tenant)
  const afterCell = ({ after }: Pick<Slice, "after">) => after
  // Without the hint MySQL and MariaDB may read all sessions of the tenant by another index.
  const endOfSlice = statement<SessionRow, Pick<Slice, "tenant" | "after">>(
    sessions
      .selectFrom("s")
      .useIndex("PRIMARY")
      .select("s.tokenHash")
      .where("s.tenant = :tenant AND s.tokenHash > :after")
      .orderBy("s.tokenHash")
      .offset(examinedAtOnce - 1)
      .limit(1),
    { tenant: tenantCell, after: afterCell },
  )
  const revokedIn = (limit: number) =>
    statement<SessionRow, Slice>(
      sessions
        .selectFrom("s")
        .useIndex("PRIMARY")
        .select("s.tenant, s.tokenHash, s.created")
        .where("s.tenant = :tenant AND s.tokenHash > :after AND s.tokenHash <= :end")
        // The CASE prevents the use of other indexes.
        .andWhere(`CASE WHEN ${rules.isRevoked} THEN 1 ELSE 0 END = 1`)
        .orderBy("s.tokenHash")
        .limit(limit),
      { tenant: tenantCell, after: afterCell, end: ({ end }) => end },
    )
  const selects = new Map<number, ReturnType<typeof revokedIn>>()
  const deleteRows = deleteByKeys(sessions)
  const lastHash = Buffer.alloc(32, 0xff)
  /** Where the examination of a tenant has arrived. It concerns the marks that were set up to a time. */
  let reached: { tenant: string; until: Date; after: Cell } | undefined

  return {
    table: sessions.name,
    keepMs: 0,
    async deleteBatch(waiter, { before, limit }) {
      const due = new Date(before.getTime() - clockMarginMs)
      const [cells] = await database.reads(waiter).read(next, { due })
      if (cells === undefined) return null
      const tenant = policies.value("tenant", cells[0] as Cell)
      if (reached?.tenant !== tenant) reached = { tenant, until: due, after: Buffer.alloc(0) }
      const { until, after } = reached
      const [atEnd] = await database.reads(waiter, "scan").read(endOfSlice, { tenant, after })
      const end = (atEnd?.[0] as Buffer | undefined) ?? lastHash
      const select = selects.get(limit) ?? revokedIn(limit)
      selects.set(limit, select)
      const rows = await database.reads(waiter, "scan").read(select, { tenant, after, end })
      const count = await database.transaction(waiter, [], (sql) => deleteRows(sql, rows))
      const isFull = rows.length === limit
      if (!isFull && atEnd === undefined) {
        reached = undefined
        await database.writes(waiter, [], (sql) => sql.write(ended, { tenant, until }))
      } else reached = { tenant, until, after: isFull ? (rows.at(-1)?.[1] as Buffer) : end }
      return { count, first: until, last: until, more: true }
    },
  }
}
