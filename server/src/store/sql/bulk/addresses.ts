import type { Database } from "../database.js"
import type { UserRow } from "../schema/entities.js"

/**
 * Two users of a tenant cannot have one address at the same time. When it has gone from one to another, the other may be
 * written first: then the address is taken from who had it, whose own turn comes.
 */
export function addressBook(database: Database, tenant: string) {
  const { users } = database.tables
  const byEmail = users.statement(
    users.selectFrom("u").where("u.tenant = :tenant AND u.emailKey = :emailKey"),
    "tenant",
    "emailKey",
  )
  const clear = users.statement(
    users.updateOf("email", "emailKey", "updated").where(users.keyIs()),
    ...users.key,
    "email",
    "emailKey",
    "updated",
  )

  return {
    /**
     * Frees the addresses of these users, in one transaction.
     *
     * @param mayClear whether a user may be left without an address.
     * @returns the ids of those who have an address that they may not be left without: nothing was done then.
     */
    free(rows: readonly UserRow[], mayClear: (id: string) => boolean): Promise<string[]> {
      return database.transaction({}, [], async (sql) => {
        const holders: string[] = []
        for (const row of rows) {
          if (row.emailKey === undefined) continue
          const holder = users.first(await sql.read(byEmail, { tenant, emailKey: row.emailKey }))
          if (holder !== null && holder.id !== row.id) holders.push(holder.id)
        }
        const kept = holders.filter((id) => !mayClear(id))
        if (kept.length > 0) return kept
        const cleared = { email: undefined, emailKey: undefined, updated: new Date() }
        for (const id of holders) await sql.write(clear, { tenant, id, ...cleared })
        return []
      })
    },
  }
}
