import { dataExpires, measuredExpires, provider, sessionsPerUser, uuidSql } from "./keys.ts"

const time = (date: Date) => `'${date.toISOString().slice(0, 23).replace("T", " ")}'`

/** The values of the data as SQL of a number `n`: of a user, or of a session. The same as data/keys.ts has. */
export const cells = {
  userId: uuidSql("CONCAT('user ', n)"),
  userIdOfSession: uuidSql(`CONCAT('user ', n DIV ${sessionsPerUser})`),
  name: "CONCAT('Ada Lovelace ', n)",
  email: "CONCAT('user.', n, '@example.com')",
  image: "CONCAT('https://avatars.example.com/u/', n, '?v=4')",
  provider: `'${provider}'`,
  providerAccountId: "CAST(10000000 + n AS CHAR)",
  accessToken: "CONCAT('gho_', LEFT(SHA2(CONCAT('access token ', n), 256), 36))",
  scope: "'read:user,user:email'",
  sessionToken: uuidSql("CONCAT('session ', n)"),
  /** An id of a row that nobody asks for by it. */
  rowId: (table: string) => uuidSql(`CONCAT('${table} ', n)`),
  expires: time(dataExpires),
  expiresMs: `'${dataExpires.getTime()}'`,
  measuredExpires: time(measuredExpires),
  measuredExpiresMs: `'${measuredExpires.getTime()}'`,
  identifier: (batch: string) => `CONCAT('${batch}.', n, '@example.com')`,
  verificationToken: (batch: string) => `SHA2(CONCAT('token ${batch} ', n), 256)`,
}
