import { hash } from "node:crypto"

/** How many sessions each user has. */
export const sessionsPerUser = 2

export const provider = "github"

/** When the sessions of the data expire. */
export const dataExpires = new Date("2037-01-01T00:00:00Z")

/** An id that looks like a UUID and falls anywhere in an index. SQL makes the same (see `uuidSql`). */
function uuid(name: string): string {
  const hex = hash("sha256", name, "hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

/** SQL for `uuid` of a name that is itself SQL. */
export function uuidSql(name: string): string {
  return `INSERT(INSERT(INSERT(INSERT(LEFT(SHA2(${name}, 256), 32), 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-')`
}

export const userId = (user: number) => uuid(`user ${user}`)
export const email = (user: number) => `user.${user}@example.com`
export const providerAccountId = (user: number) => String(10_000_000 + user)

/** The token of a session; session s belongs to user s / sessionsPerUser, rounded down. */
export const sessionToken = (session: number) => uuid(`session ${session}`)
