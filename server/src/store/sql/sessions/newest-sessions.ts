import type { Database } from "../database.js"
import type { Cell } from "../query/statement.js"
import { along } from "../walks/along.js"
import { walks } from "../walks/walks.js"

/** The times of a session as they are stored: the policy of the tenant is not applied to the expiry. */
export interface StoredTimes {
  created: Date
  /** The last recorded use: of a session that was never seen, its creation. */
  used: Date
  expires: Date
}

/** Returns the times of the newest sessions of a tenant, the newest first, at most `limit`, without rows that cannot be read. */
export async function newestSessions(
  database: Database,
  { tenant, limit }: { tenant: string; limit: number },
): Promise<StoredTimes[]> {
  const { sessions } = database.tables
  const newest = along(database, walks.sessionsByCreation, {
    ...{ alias: "s", select: "s.created, s.lastSeen, s.expires", backwards: true, limit },
  })
  const rows = await database.reads({}).read(newest, { of: { tenant } })
  return sessions.readable(rows, ([made, seen, end]) => {
    const created = sessions.value("created", made as Cell) as Date
    return {
      created,
      used: sessions.value("lastSeen", seen as Cell) ?? created,
      expires: sessions.value("expires", end as Cell) as Date,
    }
  })
}
