import { hash } from "node:crypto"
import { oncePer } from "../../util/once-per.js"
import type { ExpiredRows, SignalStore } from "../store.js"
import type { Database } from "./database.js"
import { sharedLookup } from "./query/batched-lookup.js"
import type { Cell } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"
import { deleteByKeys } from "./schema/delete-by-keys.js"
import { tenantNotFound } from "./schema/present-tenants.js"
import type { GroupTransaction } from "./transaction/group-commit.js"
import { userReader } from "./users/user-reader.js"
import { along } from "./walks/along.js"
import { walks } from "./walks/walks.js"

/*
 * A JWT has no row that could be deleted when its session ends, so a mark is kept for it: for a session of the provider, or for the
 * sign-ins of a user there. The key of a mark is a hash. Each has a second row without the provider, for tokens that do not name it.
 * A disabled user that is deleted leaves a mark as well, because nothing else says then that the JWTs of the user have ended.
 */

/** How long a mark is kept at least, in milliseconds: the lifetime of Auth.js's sessions, and of tokens without `max_age`. */
const longestAgeMs = 30 * 86_400_000
/** For how long a JWT is accepted after it has expired, and more, in milliseconds. */
const toleranceMs = 60_000

/** The most rows that the cleanup leaves of a tenant: those of 100,000 marks. */
export const maxEndedTokens = 200_000

function keyHashOf(kind: "session" | "user" | "deleted user", name: string, provider = ""): Buffer {
  return hash("sha256", JSON.stringify([kind, name, provider]), "buffer")
}

/** The clock gives the time in milliseconds since 1970-01-01T00:00:00Z. */
interface Clock {
  clock: () => number
}

/** Creates a function that marks the JWTs of a user, or of a session, as ended now. */
function marking({ tables: { endedTokens: marks, sessionPolicies } }: Database, { clock }: Clock) {
  const update = marks.statement(
    marks.updateOf("ended", "expires").where(marks.keyIs()),
    ...marks.key,
    "ended",
    "expires",
  )
  return async (sql: GroupTransaction, tenant: string, keyHashes: readonly Buffer[]): Promise<void> => {
    const now = clock()
    const policy = sessionPolicies.first(await sql.read(sessionPolicies.byKey, { tenant, provider: "" }))
    const keptMs = Math.max(longestAgeMs, policy?.maxAge ?? 0) + toleranceMs
    const times = { ended: new Date(now), expires: new Date(now + keptMs) }
    for (const keyHash of keyHashes) {
      const row = { tenant, keyHash, ...times }
      if ((await sql.write(update, row)) === 0) await sql.changeAtCommit(marks.insertion(row))
    }
  }
}

/** Creates the mark of a disabled user that is deleted. */
export function endingWithUser(database: Database, clock: Clock) {
  const mark = marking(database, clock)
  return (sql: GroupTransaction, tenant: string, userId: string) =>
    mark(sql, tenant, [keyHashOf("deleted user", userId)])
}

export function endedTokens(database: Database, { clock }: Clock): Pick<SignalStore, "endTokens" | "holderOf"> {
  const { endedTokens: marks, users } = database.tables
  const mark = marking(database, { clock })
  const reader = userReader(database, clock)
  // The statement that reads the user says whether its tenant has marks. With EXISTS, PostgreSQL would read those of all tenants to
  // find that there is none.
  const anyMark = `(SELECT e.expires FROM ${marks.name} e WHERE e.tenant = :tenant ORDER BY e.tenant, e.expires LIMIT 1)`
  const userById = sharedLookup(database, {
    from: () => users.selectFrom("u"),
    columns: `${reader.columns("u")}, ${anyMark}`,
    alias: "u",
    key: ["id"],
  })
  const markByKey = sharedLookup(database, {
    from: () => marks.selectFrom("e"),
    columns: "e.ended",
    alias: "e",
    key: ["keyHash"],
  })

  return {
    async endTokens(caller, ended) {
      const keyHashes = [ended.provider, undefined].map((provider) =>
        "userId" in ended
          ? keyHashOf("user", ended.userId, provider)
          : keyHashOf("session", ended.providerSessionId, provider),
      )
      for (;;) {
        try {
          return await database.write(caller, [], (sql) => mark(sql, caller.tenant, keyHashes))
        } catch (error) {
          // Another call has inserted the mark in between. In a transaction of the caller, all of that is done again.
          if (caller.transaction !== undefined || !failsBy(error, "duplicate")) throw tenantNotFound(error)
        }
      }
    },

    async holderOf(caller, { userId, provider, providerSessionId, signedIn }) {
      const found = userId === undefined ? undefined : await userById(caller, [users.cell("id", userId)])
      const user = found === undefined ? null : reader.user(found)
      if (found !== undefined && found[reader.width] === null) return { user, isEnded: false }
      const markOf = async (keyHash: Buffer) => {
        const cells = await markByKey(caller, [marks.cell("keyHash", keyHash)])
        return cells && marks.value("ended", cells[0] as Cell)
      }
      const [ofSession, ...ofUser] = await Promise.all([
        providerSessionId === undefined ? undefined : markOf(keyHashOf("session", providerSessionId, provider)),
        // Also if the user has been deleted since.
        userId === undefined ? undefined : markOf(keyHashOf("user", userId, provider)),
        userId === undefined ? undefined : markOf(keyHashOf("deleted user", userId)),
      ])
      const hasEnded = ofUser.some((ended) => ended !== undefined && !(signedIn > ended.getTime()))
      // A session of the provider does not begin again. The user may have signed in again.
      return { user, isEnded: ofSession !== undefined || hasEnded }
    },
  }
}

/**
 * Creates the deletion of the oldest marks of each tenant that has too many, one tenant after the other. Without it a provider could
 * fill the database with the sessions that it ends.
 *
 * @param most the most rows that are left of a tenant.
 */
export function endedTokensBeyond(database: Database, most: number): ExpiredRows {
  const { endedTokens: marks, tenants } = database.tables
  const selectTenants = tenants.statement(tenants.selectFrom("t").select("t.name"))
  const beyond = oncePer((limit: number) =>
    along(database, walks.endedTokensOfTenant, {
      ...{ alias: "e", select: "e.tenant, e.keyHash", backwards: true, offset: most, limit },
    }),
  )
  const deleteRows = deleteByKeys(marks)
  /** The tenants that are left of this round. Undefined: a round begins. */
  let left: string[] | undefined
  return {
    table: marks.name,
    keepMs: 0,
    async deleteBatch(waiter, { before, limit }) {
      left ??= (await database.reads(waiter).read(selectTenants, {})).map(([name]) =>
        tenants.value("name", name as Cell),
      )
      const tenant = left.shift()
      if (tenant === undefined) {
        left = undefined
        return null
      }
      const rows = await database.reads(waiter, "scan").read(beyond(limit), { of: { tenant } })
      if (rows.length === limit) left.unshift(tenant)
      const count = rows.length > 0 ? await database.write(waiter, [], (sql) => deleteRows(sql, rows)) : 0
      return { count, first: before, last: before }
    },
  }
}
