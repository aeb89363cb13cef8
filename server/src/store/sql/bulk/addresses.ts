import type { Database } from "../database.js"
import type { UserRow } from "../schema/rows.js"

/**
 * Resolves address conflicts between users that are written in bulk. Two users of a tenant cannot have the same
 * address. If an address has moved from one user to another, the new holder may be written first. Then the address is
 * cleared for the old holder, which is written later.
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
     * Clears these users' addresses where other users hold them, in one transaction.
     *
     * @param mayClear whether a user may be left without an address.
     * @returns the ids of the holders whose address must not be cleared; in this case nothing was changed.
     */
    free(rows: readonly UserRow[], mayClear: (id: string) => boolean): Promise<string[]> {
      return database.write({}, [], async (sql) => {
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
