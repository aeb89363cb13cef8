import type { SignalStore } from "../store.js"
import type { Account } from "../types.js"
import type { Database } from "./database.js"
import { endedTokens } from "./ended-tokens.js"
import type { EventOf } from "./events/event-rows.js"
import type { AccountRow } from "./schema/rows.js"
import { providerSessions } from "./sessions/provider-sessions.js"

/** The failure of a refresh that a provider has announced, and how long it is kept, in milliseconds: a year. */
const revoked = { failure: "refused:revoked:::1", ms: 365 * 86_400_000 }

/** What describes an access token, and is dropped with it. */
const ofAccessToken = ["access_token", "id_token", "expires_in", "expires_at"] as const
const ofRefreshToken = ["refresh_token", "refreshHolder", "refreshUntil", "refreshFailure", "refreshMark"] as const

/**
 * Creates the writes that signals of providers demand.
 *
 * @param clock the time in milliseconds since 1970-01-01T00:00:00Z.
 */
export function signalStore(
  database: Database,
  { clock, eventOf }: { clock: () => number; eventOf: EventOf },
): SignalStore {
  const { accounts, users } = database.tables
  const sessionsOf = providerSessions(database, eventOf)
  const dropping = (columns: readonly (keyof AccountRow & string)[]) => {
    const all = [...columns, "updated"] as const
    return accounts.statement(accounts.updateOf(...all).where(accounts.keyIs()), ...accounts.key, ...all)
  }
  const dropAll = dropping([...ofAccessToken, ...ofRefreshToken])
  const dropRefreshToken = dropping(ofRefreshToken)

  return {
    endProviderSession: sessionsOf.endProviderSession,
    ...endedTokens(database, { clock }),

    async revokeAccount(caller, { provider, providerAccountId }, { sessions, tokens }) {
      const { tenant } = caller
      const key = { tenant, provider, providerAccountId }
      const found = accounts.first(await database.reads(caller).read(accounts.byKey, key))
      if (found === null) return null
      const { userId } = found
      const most = sessions ? await sessionsOf.revokeMost(caller, userId, provider) : 0
      // Transactions that create a session of the user take turns with this one.
      const names = [users.nameOf({ tenant, id: userId }), accounts.nameOf(key)]
      return database.write(caller, names, async (sql) => {
        const row = accounts.first(await sql.read(accounts.byKeyForUpdate, key))
        const isSame = row?.userId === userId
        const rest = sessions && isSame ? await sessionsOf.revokeRest(sql, caller, userId, provider) : 0
        if (
          isSame &&
          (tokens === "all" || row.refresh_token !== undefined) &&
          tokens !== "none" &&
          !isKept(row, tokens)
        ) {
          const now = clock()
          const refused = { refreshFailure: revoked.failure, refreshUntil: new Date(now + revoked.ms) }
          const dropped = { ...key, ...refused, updated: new Date(now) } as AccountRow
          const event = eventOf(caller, "account.updated", { userId, provider })
          await sql.write(tokens === "all" ? dropAll : dropRefreshToken, dropped, event)
        }
        return { userId, revokedSessions: most + rest }
      })
    },
  }
}

/** Whether the refresh token may still be used after the user has signed out at the provider. */
function isKept({ scope }: Account, tokens: "all" | "online"): boolean {
  return tokens === "online" && scope?.split(/[\s,]/).includes("offline_access") === true
}
