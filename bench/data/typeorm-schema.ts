import { cells as c } from "./cells.ts"
import type { Schema } from "./schema.ts"

/** The tables that TypeORM makes of the entities of @auth/typeorm-adapter. */
export const typeormSchema: Schema = {
  name: "typeorm",
  async create(databaseUrl) {
    const [{ DataSource }, { entities }] = await Promise.all([import("typeorm"), import("@auth/typeorm-adapter")])
    const dataSource = new DataSource({ type: "mysql", url: databaseUrl, entities: Object.values(entities) })
    await dataSource.initialize()
    await dataSource.synchronize()
    // The adapter's entities have no index for this look-up. Nobody who has 100,000 users does without.
    await dataSource.query("CREATE UNIQUE INDEX account_by_provider ON accounts (provider, providerAccountId)")
    await dataSource.query("CREATE UNIQUE INDEX token_by_identifier ON verification_tokens (identifier, token)")
    await dataSource.destroy()
  },
  fill: ({ users, sessions }) => [
    `INSERT INTO users (id, name, email, image) SELECT ${c.userId}, ${c.name}, ${c.email}, ${c.image} ${users} ORDER BY 1`,
    `INSERT INTO accounts (id, userId, type, provider, providerAccountId, access_token, token_type, scope)
       SELECT ${c.rowId("account")}, ${c.userId}, 'oauth', ${c.provider}, ${c.providerAccountId}, ${c.accessToken}, 'bearer',
         ${c.scope} ${users} ORDER BY 1`,
    `INSERT INTO sessions (id, sessionToken, userId, expires)
       SELECT ${c.rowId("session row")}, ${c.sessionToken}, ${c.userIdOfSession}, ${c.expiresMs} ${sessions} ORDER BY 1`,
  ],
  cleanUp: [
    "DELETE FROM verification_tokens",
    `DELETE FROM sessions WHERE expires = ${c.measuredExpiresMs}`,
    "DELETE a FROM users u JOIN accounts a ON a.userId = u.id WHERE u.email LIKE 'new.%'",
    "DELETE FROM users WHERE email LIKE 'new.%'",
  ],
  verificationTokens: (batch, from) =>
    `INSERT INTO verification_tokens (id, identifier, token, expires)
       SELECT ${c.rowId(`token ${batch}`)}, ${c.identifier(batch)}, ${c.verificationToken(batch)},
         ${c.measuredExpiresMs} ${from}`,
}
