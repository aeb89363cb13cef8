import { createConnection } from "mysql2/promise"
import { cells as c } from "./cells.ts"
import type { Schema } from "./schema.ts"

/** The tables of @auth/drizzle-adapter's documentation for MySQL; the adapter written by hand has the same. */
export const plainSchema: Schema = {
  name: "plain",
  async create(databaseUrl) {
    const connection = await createConnection({ uri: databaseUrl, multipleStatements: true })
    await connection.query(tables)
    await connection.end()
  },
  fill: ({ users, sessions }) => [
    `INSERT INTO user (id, name, email, image) SELECT ${c.userId}, ${c.name}, ${c.email}, ${c.image} ${users} ORDER BY 1`,
    `INSERT INTO account (userId, type, provider, providerAccountId, access_token, token_type, scope)
       SELECT ${c.userId}, 'oauth', ${c.provider}, ${c.providerAccountId}, ${c.accessToken}, 'bearer', ${c.scope} ${users}`,
    `INSERT INTO session (sessionToken, userId, expires)
       SELECT ${c.sessionToken}, ${c.userIdOfSession}, ${c.expires} ${sessions} ORDER BY 1`,
  ],
  cleanUp: [
    "DELETE FROM verificationToken",
    `DELETE FROM session WHERE expires = ${c.measuredExpires}`,
    "DELETE FROM user WHERE email LIKE 'new.%'",
  ],
  verificationTokens: (batch, from) =>
    `INSERT INTO verificationToken (identifier, token, expires)
       SELECT ${c.identifier(batch)}, ${c.verificationToken(batch)}, ${c.measuredExpires} ${from}`,
}

const tables = `
  CREATE TABLE user (
    id VARCHAR(255) NOT NULL PRIMARY KEY,
    name VARCHAR(255),
    email VARCHAR(255) UNIQUE,
    emailVerified TIMESTAMP(3) NULL,
    image VARCHAR(255)
  );
  CREATE TABLE account (
    userId VARCHAR(255) NOT NULL,
    type VARCHAR(255) NOT NULL,
    provider VARCHAR(255) NOT NULL,
    providerAccountId VARCHAR(255) NOT NULL,
    refresh_token VARCHAR(255),
    access_token VARCHAR(255),
    expires_at INT,
    token_type VARCHAR(255),
    scope VARCHAR(255),
    id_token VARCHAR(2048),
    session_state VARCHAR(255),
    PRIMARY KEY (provider, providerAccountId),
    FOREIGN KEY (userId) REFERENCES user (id) ON DELETE CASCADE
  );
  CREATE TABLE session (
    sessionToken VARCHAR(255) NOT NULL PRIMARY KEY,
    userId VARCHAR(255) NOT NULL,
    expires TIMESTAMP NOT NULL,
    FOREIGN KEY (userId) REFERENCES user (id) ON DELETE CASCADE
  );
  CREATE TABLE verificationToken (
    identifier VARCHAR(255) NOT NULL,
    token VARCHAR(255) NOT NULL,
    expires TIMESTAMP NOT NULL,
    PRIMARY KEY (identifier, token)
  );`
