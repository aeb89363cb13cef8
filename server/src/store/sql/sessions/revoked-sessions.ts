import { StoreError } from "../../../errors/store-error.js"
import type { ExpiredRows, SessionStore } from "../../store.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { type Cell, type Statement, statement } from "../query/statement.js"
import { deleteByKeys } from "../schema/delete-by-keys.js"
import type { SessionPolicyRow, SessionRow } from "../schema/rows.js"
import { lockedPolicies } from "./session-policies.js"

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
      const marks = { revokedBefore: mark, revoking: isLater ? mark : row.revoking }
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

interface Slice {
  tenant: string
  provider: string
  mark: Date
  after: Cell
  end: Cell
}

/**
 * Creates the deletion of sessions that `revokeAll` has ended. It examines the sessions of the tenant in the order of their
 * primary key, a slice in each batch. A process that takes over begins again. Of two processes each deletes what the other
 * has not deleted yet.
 */
export function revokedSessions(database: Database): ExpiredRows {
  const { sessions, sessionPolicies: policies } = database.tables
  const next = policies.statement(
    policies
      .selectFrom("p")
      .select("p.tenant, p.provider, p.revoking")
      .where("p.revoking >= :revoking")
      .orderBy("p.revoking")
      .limit(1),
    "revoking",
  )
  const ended = policies.statement(
    policies.updateOf("revoking").where(`${policies.keyIs()} AND revokedBefore = :revokedBefore`),
    ...policies.key,
    "revoking",
    "revokedBefore",
  )
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
    { tenant: ({ tenant }) => sessions.cell("tenant", tenant), after: ({ after }) => after },
  )
  const selects = new Map<string, Statement<Slice>>()
  function revokedIn(isOfProvider: boolean, limit: number): Statement<Slice> {
    const name = `${isOfProvider} ${limit}`
    const known = selects.get(name)
    if (known !== undefined) return known
    const select = sessions
      .selectFrom("s")
      .useIndex("PRIMARY")
      .select("s.tenant, s.tokenHash, s.created")
      .where("s.tenant = :tenant AND s.tokenHash > :after AND s.tokenHash <= :end")
      // The CASE prevents the use of other indexes.
      .andWhere("CASE WHEN s.created < :created THEN 1 ELSE 0 END = 1")
      .orderBy("s.tokenHash")
      .limit(limit)
    if (isOfProvider) select.andWhere("CASE s.provider WHEN :provider THEN 1 ELSE 0 END = 1")
    const made = statement<SessionRow, Slice>(select, {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
      after: ({ after }) => after,
      end: ({ end }) => end,
      created: ({ mark }) => sessions.cell("created", mark),
      ...(isOfProvider && { provider: ({ provider }: Slice) => sessions.cell("provider", provider) }),
    })
    selects.set(name, made)
    return made
  }
  const deleteRows = deleteByKeys(sessions)
  const lastHash = Buffer.alloc(32, 0xff)
  /** Where the examination of the oldest mark has arrived. */
  let reached: { mark: string; after: Cell } | undefined

  return {
    table: sessions.name,
    keepMs: 0,
    async deleteBatch(waiter, { limit }) {
      const [cells] = await database.reads(waiter).read(next, { revoking: earliest })
      if (cells === undefined) return null
      const tenant = policies.value("tenant", cells[0] as Cell)
      const provider = policies.value("provider", cells[1] as Cell)
      const mark = policies.value("revoking", cells[2] as Cell) as Date
      const name = JSON.stringify([tenant, provider, mark])
      const after = reached?.mark === name ? reached.after : Buffer.alloc(0)
      const [atEnd] = await database.reads(waiter, "scan").read(endOfSlice, { tenant, after })
      const end = bytes(atEnd?.[0]) ?? lastHash
      const values = { tenant, provider, mark, after, end }
      const rows = await database.reads(waiter, "scan").read(revokedIn(provider !== "", limit), values)
      const count = await database.transaction(waiter, [], (sql) => deleteRows(sql, rows))
      const isFull = rows.length === limit
      if (!isFull && atEnd === undefined) {
        reached = undefined
        const row: SessionPolicyRow = { tenant, provider, revoking: undefined, revokedBefore: mark }
        await database.writes(waiter, [policies.nameOf(row)], (sql) => sql.write(ended, row))
      } else reached = { mark: name, after: isFull ? (bytes(rows.at(-1)?.[1]) as Buffer) : end }
      return { count, first: mark, last: mark, more: true }
    },
  }
}

/** libsql returns bytes as an ArrayBuffer. */
function bytes(cell: Cell | undefined): Buffer | undefined {
  return cell === undefined ? undefined : Buffer.from(cell as Buffer)
}
