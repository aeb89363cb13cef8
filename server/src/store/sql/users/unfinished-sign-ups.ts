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
 * session or passkey, and the address was never verified. Of more users than `examined`, only the newest are examined. The oldest come
 * first, at most `limit`.
 */
export async function unfinishedSignUps(
  database: Database,
  { tenant, since, examined, limit }: { tenant: string; since: Date; examined: number; limit: number },
): Promise<UnfinishedSignUp[]> {
  const { users } = database.tables
  const newest = users.selectFrom("u").select("u.created").where("u.tenant = :tenant AND u.created >= :created")
  newest.orderBy("u.created", "DESC").addOrderBy("u.id", "DESC").offset(examined).limit(1)
  const nextNewest = users.statement(newest.withDeleted(), "tenant", "created")
  const [first] = await database.reads({}).read(nextNewest, { tenant, created: since })
  const from = first === undefined ? since : users.value("created", first[0] as Cell)
  const select = along(database, walks.usersByCreation, {
    ...{ alias: "u", select: "u.id, u.created", from: ["created"], limit },
    where: `u.emailKey IS NOT NULL AND u.emailVerified IS NULL AND ${hasNothing}`,
  })
  const rows = await database.reads({}).read(select, { of: { tenant }, from: { created: from as Date } })
  return users.readable(rows, ([id, created]) => ({
    id: users.value("id", id as Cell),
    created: users.value("created", created as Cell) as Date,
  }))
}
