import type { Database } from "../database.js"
import type { Cell } from "../query/statement.js"
import { along } from "../walks/along.js"
import { walks } from "../walks/walks.js"
import { hasNothing } from "./provisional-users.js"

/** A user that has an address and no way to sign in. */
export interface UnfinishedSignUp {
  id: string
  created: Date
}

/**
 * Returns the users of a tenant that were created at `since` or later and have nothing but an address: no account,
 * session or passkey, and the address was never verified. The oldest come first, at most `limit`.
 */
export async function unfinishedSignUps(
  database: Database,
  { tenant, since, limit }: { tenant: string; since: Date; limit: number },
): Promise<UnfinishedSignUp[]> {
  const { users } = database.tables
  const select = along(database, walks.usersByCreation, {
    ...{ alias: "u", select: "u.id, u.created", from: ["created"], limit },
    where: `u.emailKey IS NOT NULL AND u.emailVerified IS NULL AND ${hasNothing}`,
  })
  const rows = await database.reads({}).read(select, { of: { tenant }, from: { created: since } })
  return users.readable(rows, ([id, created]) => ({
    id: users.value("id", id as Cell),
    created: users.value("created", created as Cell) as Date,
  }))
}
