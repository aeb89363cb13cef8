import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { cells as c } from "./cells.ts"
import type { Schema } from "./schema.ts"

const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))

/** The tables that Authwire's own migrations make. */
export const authwireSchema: Schema = {
  name: "authwire",
  async create(databaseUrl) {
    await promisify(execFile)(process.execPath, [command, "migrate", "up"], {
      env: { ...process.env, AUTHWIRE_DATABASE_URL: databaseUrl },
    })
  },
  fill: ({ users, sessions }) => [
    `INSERT INTO users (tenant, id, email, email_key, name, image, extra)
       SELECT 'default', ${c.userId}, ${c.email}, ${c.email}, ${c.name}, ${c.image}, '{}' ${users} ORDER BY 1`,
    `INSERT INTO accounts (tenant, provider, provider_account_id, user_id, type, access_token, token_type, scope, extra)
       SELECT 'default', ${c.provider}, ${c.providerAccountId}, ${c.userId}, 'oauth', ${c.accessToken}, 'bearer', ${c.scope}, '{}'
       ${users} ORDER BY 2`,
    `INSERT INTO sessions (tenant, token_hash, user_id, expires, extra)
       SELECT 'default', UNHEX(SHA2(${c.sessionToken}, 256)), ${c.userIdOfSession}, ${c.expires}, '{}' ${sessions} ORDER BY 1`,
  ],
  cleanUp: [
    "DELETE FROM verification_tokens",
    `DELETE FROM sessions WHERE expires = ${c.measuredExpires}`,
    "DELETE a FROM users u JOIN accounts a ON a.tenant = u.tenant AND a.user_id = u.id WHERE u.email LIKE 'new.%'",
    "DELETE FROM users WHERE email LIKE 'new.%'",
  ],
  verificationTokens: (batch, from) =>
    `INSERT INTO verification_tokens (tenant, identifier, token_hash, expires)
       SELECT 'default', ${c.identifier(batch)}, UNHEX(SHA2(${c.verificationToken(batch)}, 256)), ${c.measuredExpires} ${from}`,
}
