import type { Database } from "../database.js"
import type { Cell } from "../query/statement.js"
import { hasNothing } from "./provisional-users.js"

/** A user whom nobody can sign in as, and whose address is taken. */
export interface UnfinishedSignUp {
  id: string
  created: Date
}

/**
 * The users of a tenant with an address who were created at `since` or later and have nothing but that: no account,
 * session or passkey, and the address was never verified. The oldest first, `limit` of them.
 */
export async function unfinishedSignUps(
  database: Database,
  { tenant, since, limit }: { tenant: string; since: Date; limit: number },
): Promise<UnfinishedSignUp[]> {
  const { users } = database.tables
  const select = users.statement(
    users
      .selectFrom("u")
      .select("u.id, u.created")
      .where("u.tenant = :tenant AND u.created >= :created AND u.emailKey IS NOT NULL AND u.emailVerified IS NULL")
      .andWhere(hasNothing)
      .orderBy("u.created")
      .limit(limit),
    "tenant",
    "created",
  )
  const rows = await database.statements({}, (sql) => sql.read(select, { tenant, created: since }))
  return rows.map(([id, created]) => ({
    id: users.value("id", id as Cell),
    created: users.value("created", created as Cell) as Date,
  }))
}
