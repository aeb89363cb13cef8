import type { Caller, SignalStore } from "../../store.js"
import { lastTime } from "../../times.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { type Cell, type Statements, statement } from "../query/statement.js"
import { ofPresentUser } from "../schema/present-users.js"
import type { SessionRow } from "../schema/rows.js"
import { idsOf } from "./session-keys.js"
import { type Position, positionIn, sessionAt } from "./session-revocations.js"

/** The maximum number of sessions that one transaction deletes. */
const sessionsAtOnce = 100

/** A user's sessions that began at a provider, up to a position. */
interface AtProvider {
  tenant: string
  userId: string
  provider: string
  last: Position
}

export interface ProviderSessions extends Pick<SignalStore, "endProviderSession"> {
  /** Deletes a user's sessions of a provider in batches that are committed one by one, until few are left. */
  revokeMost(caller: Caller, userId: string, provider: string): Promise<number>
  /** Deletes the others, in a transaction that has locked the user. */
  revokeRest(sql: Statements, caller: Caller, userId: string, provider: string): Promise<number>
}

/** Creates the deletions of sessions by what the provider knows of them. */
export function providerSessions(database: Database, eventOf: EventOf): ProviderSessions {
  const { sessions, users } = database.tables
  const ofProviderSession = sessions.statement(
    sessions
      .selectFrom("s")
      .select(`${sessions.columns("s")}, s.tokenHash`)
      .where("s.tenant = :tenant AND s.provider = :provider AND s.providerSessionId = :providerSessionId")
      .andWhere(ofPresentUser("s.tenant", "s.userId"))
      .orderBy("s.id")
      .limit(sessionsAtOnce),
    "tenant",
    "provider",
    "providerSessionId",
  )
  const atProvider = "CASE WHEN provider = :provider THEN 1 ELSE 0 END = 1"
  const lastOfMany = sessionAt<{ provider: string }>(database, {
    offset: sessionsAtOnce - 1,
    where: atProvider.replace("provider =", "s.provider ="),
    parameters: { provider: ({ provider }) => sessions.cell("provider", provider) },
  })
  // As in session-revocations.ts: the first condition about the time finds the place in the index.
  const deleteUpTo = statement<SessionRow, AtProvider>(
    sessions
      .deleteFrom()
      .where("tenant = :tenant AND userId = :userId AND created <= :created")
      .andWhere("(created < :created OR (created = :created AND id <= :id))")
      .andWhere(atProvider)
      .andWhere(ofPresentUser(":tenant", ":userId")),
    {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
      userId: ({ userId }) => sessions.cell("userId", userId),
      provider: ({ provider }) => sessions.cell("provider", provider),
      created: ({ last }) => sessions.cell("created", last.created),
      id: ({ last }) => sessions.cell("id", last.id),
    },
  )
  const deleteOf = (sql: Statements, caller: Caller, ofUser: AtProvider) =>
    sql.write(deleteUpTo, ofUser, eventOf(caller, "user.sessions_revoked", ofUser))

  return {
    async endProviderSession(caller, { provider, providerSessionId }) {
      const { tenant } = caller
      let userId: string | undefined
      let revokedSessions = 0
      for (;;) {
        const found = await database.reads(caller).read(ofProviderSession, { tenant, provider, providerSessionId })
        const all = found.map((cells) => ({
          ...{ key: { tenant, tokenHash: Buffer.from(cells.at(-1) as Buffer) } },
          ...{ event: eventOf(caller, "session.deleted", idsOf(sessions.row(cells))) },
        }))
        if (found[0] !== undefined) userId = sessions.row(found[0]).userId
        // All but the last batch are committed one by one.
        const isLast = found.length < sessionsAtOnce
        const writer = isLast ? caller : { ...caller, transaction: undefined }
        const names = all.map(({ key }) => sessions.nameOf(key))
        revokedSessions += await database.write(writer, names, async (sql) => {
          let deleted = 0
          for (const { key, event } of all) deleted += await sql.write(sessions.delete, key, event)
          return deleted
        })
        if (isLast) return { userId, revokedSessions }
      }
    },

    async revokeMost(caller, userId, provider) {
      const separate = { ...caller, transaction: undefined }
      const { tenant } = caller
      let revoked = 0
      for (;;) {
        const [cells] = await database.reads(separate).read(lastOfMany, { of: { tenant, userId }, provider })
        if (cells === undefined) return revoked
        const oldest = { tenant, userId, provider, last: positionIn(database, cells as Cell[]) }
        const names = [users.nameOf({ tenant, id: userId })]
        const deleted = await database.write(separate, names, (sql) => deleteOf(sql, separate, oldest))
        revoked += deleted
        if (deleted === 0) return revoked
      }
    },

    revokeRest: (sql, caller, userId, provider) =>
      deleteOf(sql, caller, { tenant: caller.tenant, userId, provider, last: { created: lastTime, id: "" } }),
  }
}
