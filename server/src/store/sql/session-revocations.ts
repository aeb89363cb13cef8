import type { SessionStore } from "../store.js"
import type { ListedSession } from "../types.js"
import type { Database } from "./database.js"
import { type Cell, type Statement, statement } from "./query/statement.js"
import { hashOfToken } from "./session-keys.js"
import { listedColumns, listedSession } from "./session-lists.js"

/** The sessions of how many users one statement deletes. With more of them MySQL would rather read a small table whole. */
const usersAtOnce = 20

/** A call about many users goes on to the next ones until it has deleted so many sessions. */
const enoughSessions = 1000

interface OfUsers {
  tenant: string
  userIds: readonly string[]
}

/** Ends sessions for who does not have their tokens. */
export function sessionRevocations(
  database: Database,
): Pick<SessionStore, "revoke" | "revokeOfUser" | "revokeOfUsers"> {
  const { sessions, users } = database.tables
  const byId = sessions.statement(
    sessions
      .selectFrom("s")
      .select(`${listedColumns(database)}, s.tokenHash`)
      .where("s.tenant = :tenant AND s.id = :id"),
    "tenant",
    "id",
  )
  const ofUser = () => sessions.deleteFrom().where("tenant = :tenant AND userId = :userId")
  const notId = "(id IS NULL OR id <> :id)"
  const notToken = "tokenHash <> :tokenHash"
  const owner = ["tenant", "userId"] as const
  const deleteAll = sessions.statement(ofUser(), ...owner)
  const deleteAllButId = sessions.statement(ofUser().andWhere(notId), ...owner, "id")
  const deleteAllButToken = sessions.statement(ofUser().andWhere(notToken), ...owner, "tokenHash")
  const deleteAllButBoth = sessions.statement(
    ofUser().andWhere(`${notId} AND ${notToken}`),
    ...owner,
    "id",
    "tokenHash",
  )
  const deleteOfUsers = deleteOfSeveral()

  function deleteOfSeveral(): Statement<OfUsers> {
    const parameters: Record<string, (values: OfUsers) => Cell> = {
      tenant: ({ tenant }) => sessions.cell("tenant", tenant),
    }
    const list = Array.from({ length: usersAtOnce }, (_, n) => {
      // The last user stands for those that lack.
      parameters[`userId${n}`] = ({ userIds }) =>
        sessions.cell("userId", userIds[Math.min(n, userIds.length - 1)] as string)
      return `:userId${n}`
    })
    return statement(sessions.deleteFrom().where(`tenant = :tenant AND userId IN (${list.join(", ")})`), parameters)
  }

  return {
    async revoke(caller, id): Promise<ListedSession | null> {
      const { tenant } = caller
      const [cells] = await database.statements(caller, (sql) => sql.read(byId, { tenant, id }))
      if (cells === undefined) return null
      const key = { tenant, tokenHash: Buffer.from(cells.at(-1) as Buffer) }
      // The handle never changes, and no other session gets it.
      const deleted = await database.writes(caller, [sessions.nameOf(key)], (sql) => sql.write(sessions.delete, key))
      return deleted === 0 ? null : listedSession(database, cells)
    },

    revokeOfUser(caller, userId, { id, sessionToken }) {
      const { tenant } = caller
      const values = { tenant, userId }
      const tokenHash = sessionToken === undefined ? undefined : hashOfToken(sessionToken)
      // Whoever creates a session of the user takes turns with this.
      return database.writes(caller, [users.nameOf({ tenant, id: userId })], (sql) => {
        if (id !== undefined && tokenHash !== undefined)
          return sql.write(deleteAllButBoth, { ...values, id, tokenHash })
        if (id !== undefined) return sql.write(deleteAllButId, { ...values, id })
        return tokenHash === undefined
          ? sql.write(deleteAll, values)
          : sql.write(deleteAllButToken, { ...values, tokenHash })
      })
    },

    async revokeOfUsers(caller, userIds) {
      const { tenant } = caller
      let [processed, revoked] = [0, 0]
      while (processed < userIds.length && revoked < enoughSessions) {
        const some = userIds.slice(processed, processed + usersAtOnce)
        const names = [...new Set(some)].map((id) => users.nameOf({ tenant, id }))
        revoked += await database.writes(caller, names, (sql) => sql.write(deleteOfUsers, { tenant, userIds: some }))
        processed += some.length
      }
      return { processed, revoked }
    },
  }
}
