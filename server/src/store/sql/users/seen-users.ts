import type { Database } from "../database.js"
import { type ChangeOf, changesOfRows } from "../schema/changes.js"
import type { UserRow } from "../schema/rows.js"

/**
 * Creates changes that record that a user has used a session today, by the clock of the database. The user is no longer provisional
 * then. A change has no effect, and holds no lock, if it is recorded already: a user becomes provisional only when it is created.
 */
export function seenUsers({ tables: { users }, dialect }: Database): ChangeOf<Pick<UserRow, "tenant" | "id">> {
  const { today } = dialect
  return changesOfRows(users.name, {
    name: "see",
    // The CASE prevents the use of the index on the days.
    condition: (suffix) =>
      `tenant = :tenant${suffix} AND id = :id${suffix}` +
      ` AND CASE WHEN lastSeenDay >= ${today} THEN 0 ELSE 1 END = 1`,
    parameters: {
      tenant: ({ tenant }) => users.cell("tenant", tenant),
      id: ({ id }) => users.cell("id", id),
    },
    where: (condition) =>
      users
        .updateOf()
        .set({ lastSeenDay: () => today, provisionalUntil: () => "NULL" })
        .where(condition),
    mustMatch: false,
  })
}

const day = 86_400_000

/** Returns the beginning of the UTC day of a time. */
export function startOfDay(time: Date): Date {
  return new Date(Math.floor(time.getTime() / day) * day)
}
