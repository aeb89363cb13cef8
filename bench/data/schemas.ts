import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { createConnection } from "mysql2/promise"
import { dataExpires, provider, sessionsPerUser, uuidSql } from "./keys.ts"

/** The tables of one contender, and the SQL that fills them. */
export interface Schema {
  /** Creates the tables in an empty database. */
  create(databaseUrl: string): Promise<void>
  /**
   * Returns one INSERT … SELECT for each table. Both arguments are FROM clauses that provide `n`, the number of a user
   * or session.
   */
  fill(users: string, sessions: string): string[]
}

/** SQL expressions of `n` for the values of the test data. They equal those of data/keys.ts. */
const c = {
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
  /** The id of a row that is never looked up by it. */
  rowId: uuidSql("CONCAT('row ', n)"),
  expires: `'${dataExpires.toISOString().slice(0, 19).replace("T", " ")}'`,
  expiresMs: `'${dataExpires.getTime()}'`,
}

/** The tables of Authwire's own migrations. */
const authwire: Schema = {
  async create(databaseUrl) {
    const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))
    const env = { ...process.env, AUTHWIRE_DATABASE_URL: databaseUrl }
    await promisify(execFile)(process.execPath, [command, "migrate", "up"], { env })
  },
  fill: (users, sessions) => [
    `INSERT INTO users (tenant, id, email, email_key, name, image, extra)
       SELECT 'default', ${c.userId}, ${c.email}, ${c.email}, ${c.name}, ${c.image}, '{}' ${users} ORDER BY 2`,
    `INSERT INTO accounts (tenant, provider, provider_account_id, user_id, type, access_token, token_type, scope, extra)
       SELECT 'default', ${c.provider}, ${c.providerAccountId}, ${c.userId}, 'oauth', ${c.accessToken}, 'bearer', ${c.scope}, '{}'
       ${users} ORDER BY 3`,
    `INSERT INTO sessions (tenant, token_hash, user_id, expires, extra)
       SELECT 'default', UNHEX(SHA2(${c.sessionToken}, 256)), ${c.userIdOfSession}, ${c.expires}, '{}' ${sessions} ORDER BY 2`,
  ],
}

/** The tables in the documentation of @auth/drizzle-adapter for MySQL. */
const plain: Schema = {
  create: (databaseUrl) => run("plain.sql", databaseUrl),
  fill: (users, sessions) => [
    `INSERT INTO user (id, name, email, image) SELECT ${c.userId}, ${c.name}, ${c.email}, ${c.image} ${users} ORDER BY 1`,
    `INSERT INTO account (userId, type, provider, providerAccountId, access_token, token_type, scope)
       SELECT ${c.userId}, 'oauth', ${c.provider}, ${c.providerAccountId}, ${c.accessToken}, 'bearer', ${c.scope} ${users}`,
    `INSERT INTO session (sessionToken, userId, expires)
       SELECT ${c.sessionToken}, ${c.userIdOfSession}, ${c.expires} ${sessions} ORDER BY 1`,
  ],
}

/** The tables that TypeORM creates from the entities of @auth/typeorm-adapter. */
const typeorm: Schema = {
  async create(databaseUrl) {
    const [{ DataSource }, { entities }] = await Promise.all([import("typeorm"), import("@auth/typeorm-adapter")])
    const dataSource = new DataSource({ type: "mysql", url: databaseUrl, entities: Object.values(entities) })
    await dataSource.initialize()
    await dataSource.synchronize()
    // The adapter's entities have no index for these lookups. An application with 100,000 users would add them.
    await dataSource.query("CREATE UNIQUE INDEX account_by_provider ON accounts (provider, providerAccountId)")
    await dataSource.query("CREATE UNIQUE INDEX token_by_identifier ON verification_tokens (identifier, token)")
    await dataSource.destroy()
  },
  fill: (users, sessions) => [
    `INSERT INTO users (id, name, email, image) SELECT ${c.userId}, ${c.name}, ${c.email}, ${c.image} ${users} ORDER BY 1`,
    `INSERT INTO accounts (id, userId, type, provider, providerAccountId, access_token, token_type, scope)
       SELECT ${c.rowId}, ${c.userId}, 'oauth', ${c.provider}, ${c.providerAccountId}, ${c.accessToken}, 'bearer', ${c.scope}
       ${users} ORDER BY 1`,
    `INSERT INTO sessions (id, sessionToken, userId, expires)
       SELECT ${c.rowId}, ${c.sessionToken}, ${c.userIdOfSession}, ${c.expiresMs} ${sessions} ORDER BY 1`,
  ],
}

/** The tables that Prisma creates from the schema in its adapter's documentation. */
const prisma: Schema = {
  create: (databaseUrl) => run("prisma.sql", databaseUrl),
  fill: (users, sessions) => [
    `INSERT INTO User (id, name, email, image, updatedAt)
       SELECT ${c.userId}, ${c.name}, ${c.email}, ${c.image}, NOW(3) ${users} ORDER BY 1`,
    `INSERT INTO Account (id, userId, type, provider, providerAccountId, access_token, token_type, scope, updatedAt)
       SELECT ${c.rowId}, ${c.userId}, 'oauth', ${c.provider}, ${c.providerAccountId}, ${c.accessToken}, 'bearer', ${c.scope},
         NOW(3) ${users} ORDER BY 1`,
    `INSERT INTO Session (id, sessionToken, userId, expires, updatedAt)
       SELECT ${c.rowId}, ${c.sessionToken}, ${c.userIdOfSession}, ${c.expires}, NOW(3) ${sessions} ORDER BY 1`,
  ],
}

export const schemas = { authwire, plain, typeorm, prisma }

export type SchemaName = keyof typeof schemas

async function run(file: string, databaseUrl: string): Promise<void> {
  const connection = await createConnection({ uri: databaseUrl, multipleStatements: true })
  await connection.query(readFileSync(new URL(file, import.meta.url), "utf8"))
  await connection.end()
}
