import { hash } from "node:crypto"

/** The number of sessions of each user. */
export const sessionsPerUser = 2

export const provider = "github"

/** The expiry of the sessions in the test data. */
export const dataExpires = new Date("2037-01-01T00:00:00Z")

/**
 * Returns an id in the form of a UUID. The ids are spread evenly over an index. SQL computes the same ids (see
 * `uuidSql`).
 */
function uuid(name: string): string {
  const hex = hash("sha256", name, "hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

/** Returns the SQL expression for `uuid` of a name that is itself an SQL expression. */
export function uuidSql(name: string): string {
  return `INSERT(INSERT(INSERT(INSERT(LEFT(SHA2(${name}, 256), 32), 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-')`
}

export const userId = (user: number) => uuid(`user ${user}`)
export const email = (user: number) => `user.${user}@example.com`
export const providerAccountId = (user: number) => String(10_000_000 + user)

/** Returns the token of a session. Session s belongs to user s / sessionsPerUser, rounded down. */
export const sessionToken = (session: number) => uuid(`session ${session}`)
