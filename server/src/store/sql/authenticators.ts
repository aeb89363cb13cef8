import { StoreError } from "../../errors/store-error.js"
import type { AuthenticatorStore, Caller } from "../store.js"
import type { Authenticator, ListedAuthenticator } from "../types.js"
import type { Database } from "./database.js"
import type { EventOf } from "./events/event-rows.js"
import { bytesOf, type Cell, type Statements } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"
import { checkJsonSize } from "./schema/extra.js"
import { ofPresentUser } from "./schema/present-users.js"
import { columnsWithTimes, timesOf } from "./schema/row-times.js"
import { userTurns } from "./turns.js"
import type { ProvisionalUsers } from "./users/provisional-users.js"
import { userChecks } from "./users/user-checks.js"
import { leftRows } from "./users/user-deletions.js"
import { listAlong } from "./walks/list.js"
import type { PageTokens } from "./walks/page-tokens.js"
import { walks } from "./walks/walks.js"

/**
 * The maximum size of the authenticators of a user, in bytes. They are returned together, in a message that must not
 * exceed the default limit of gRPC clients.
 */
export const maxBytesOfUser = 1024 * 1024

/** The fewest bytes that an authenticator counts for, so that the number of rows that one statement reads is limited too. */
const leastBytes = 1024

/** @param options.clock the time in milliseconds since 1970-01-01T00:00:00Z. */
export function authenticatorStore(
  database: Database,
  options: { tokens: PageTokens; clock: () => number; provisional: ProvisionalUsers; eventOf: EventOf },
): AuthenticatorStore {
  const { tokens, clock, provisional, eventOf } = options
  const { authenticators, users } = database.tables
  const turns = userTurns(database)
  const authenticatorsByUserId = authenticators.statement(
    authenticators
      .selectFrom("a")
      .select(columnsWithTimes(authenticators, "a"))
      .where(`a.tenant = :tenant AND a.userId = :userId AND ${ofPresentUser(":tenant", ":userId")}`)
      .orderBy("a.credentialID"),
    "tenant",
    "userId",
  )
  const setName = authenticators.statement(
    authenticators.updateOf("displayName", "updated").where(authenticators.keyIs()),
    ...authenticators.key,
    "displayName",
    "updated",
  )
  const raiseCounter = authenticators.statement(
    authenticators.updateOf("counter", "lastUsed", "updated").where(authenticators.keyIs()),
    ...authenticators.key,
    "counter",
    "lastUsed",
    "updated",
  )

  const { missing } = userChecks(database)
  const removeLeft = leftRows(database, authenticators)

  const listed = (cells: Cell[]): ListedAuthenticator => ({
    ...authenticators.row(cells),
    ...timesOf(authenticators, cells),
  })

  const list = listAlong(database, walks.authenticatorsOfUser, {
    alias: "a",
    select: columnsWithTimes(authenticators, "a"),
    where: ofPresentUser(":tenant", ":userId"),
  })

  /** Locks an authenticator, of this user if one is given, and writes about it. Returns the result of `write`. */
  const change = (
    caller: Caller,
    { credentialID, userId }: { credentialID: string; userId: string | undefined },
    write: (sql: Statements, authenticator: Authenticator) => Promise<Authenticator>,
  ) => {
    const key = { tenant: caller.tenant, credentialID }
    return database.write(caller, [authenticators.nameOf(key)], async (sql) => {
      const authenticator = authenticators.first(await sql.read(authenticators.byKeyForUpdate, key))
      const isWanted = authenticator !== null && (userId === undefined || userId === authenticator.userId)
      return isWanted ? write(sql, authenticator) : null
    })
  }

  return {
    async create(caller, authenticator) {
      checkJsonSize("extra", authenticator.extra)
      const now = new Date(clock())
      const row = { ...authenticator, tenant: caller.tenant, created: now, updated: now }
      const event = eventOf(caller, "authenticator.created", { userId: row.userId })
      const rows = [authenticators.nameOf(row), users.nameOf({ tenant: row.tenant, id: row.userId })]
      for (;;) {
        try {
          await database.write(caller, rows, async (sql) => {
            // No other process creates one meanwhile.
            await turns.take(sql, { tenant: row.tenant, id: row.userId })
            const others = await sql.read(authenticatorsByUserId, row)
            const sizes = [...others, authenticators.insert.cells(row)].map((cells) =>
              Math.max(bytesOf(cells), leastBytes),
            )
            if (sizes.reduce((sum, bytes) => sum + bytes) > maxBytesOfUser) throw tooManyBytes()
            await sql.change([...provisional.confirmation(caller, row.userId), authenticators.insertion(row), ...event])
          })
          return authenticator
        } catch (error) {
          if (failsBy(error, "no-parent")) throw await missing(caller, row.userId)
          if (!failsBy(error, "duplicate")) throw error
          if (await removeLeft(caller, row)) continue
          throw new StoreError("AUTHENTICATOR_ALREADY_EXISTS", "the credential id is taken")
        }
      }
    },

    async get(caller, credentialID) {
      const key = { tenant: caller.tenant, credentialID }
      return authenticators.first(await database.reads(caller).read(authenticators.byKey, key))
    },

    async listByUserId(caller, userId) {
      const rows = await database.reads(caller).read(authenticatorsByUserId, { tenant: caller.tenant, userId })
      return authenticators.readable(rows, listed)
    },

    async list(caller, userId, page) {
      const { tenant } = caller
      return list(page, {
        tokens,
        name: ["authenticators", tenant, userId],
        first: { credentialID: "" },
        values: { of: { tenant, userId } },
        itemOf: listed,
        reads: database.reads(caller),
        signal: caller.signal,
      })
    },

    rename(caller, credentialID, displayName, userId) {
      return change(caller, { credentialID, userId }, async (sql, authenticator) => {
        const row = { tenant: caller.tenant, credentialID, displayName, updated: new Date(clock()) }
        await sql.write(setName, row, eventOf(caller, "authenticator.updated", { userId: authenticator.userId }))
        return { ...authenticator, displayName }
      })
    },

    delete(caller, credentialID, userId) {
      return change(caller, { credentialID, userId }, async (sql, authenticator) => {
        const event = eventOf(caller, "authenticator.deleted", { userId: authenticator.userId })
        await sql.write(authenticators.delete, { tenant: caller.tenant, credentialID }, event)
        return authenticator
      })
    },

    updateCounter(caller, credentialID, counter) {
      return change(caller, { credentialID, userId: undefined }, async (sql, authenticator) => {
        if (authenticator.counter > counter) {
          throw new StoreError("COUNTER_REGRESSION", "the new counter is lower than the stored one")
        }
        const now = new Date(clock())
        const row = { tenant: caller.tenant, credentialID, counter, lastUsed: now, updated: now }
        await sql.write(raiseCounter, row, eventOf(caller, "authenticator.updated", { userId: authenticator.userId }))
        return { ...authenticator, counter, lastUsed: now }
      })
    },
  }
}

function tooManyBytes(): StoreError {
  const rule = `must be a user whose authenticators take at most ${maxBytesOfUser} bytes together, each at least ${leastBytes}`
  return new StoreError("INVALID_FIELD", rule, { field: "user_id" })
}
