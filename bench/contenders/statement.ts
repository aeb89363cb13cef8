import { createHash } from "node:crypto"
import { createPool } from "mysql2"
import { type Contender, type Endpoints, poolSize, required } from "./contender.ts"

const sessionAndUser = `SELECT s.user_id, s.expires, s.extra, u.id, u.email, u.email_verified, u.name, u.image, u.extra
  FROM sessions s JOIN users u ON u.tenant = s.tenant AND u.id = s.user_id WHERE s.tenant = 'default' AND s.token_hash = ?`

/** A floor: the prepared statement that Authwire executes for GetSessionAndUser, on a pool of mysql2. */
export function preparedStatement({ databaseUrl }: Endpoints): Contender {
  const pool = createPool({ uri: required(databaseUrl), connectionLimit: poolSize })
  return {
    adapter: {
      getSessionAndUser: (token) =>
        new Promise((resolve, reject) => {
          const key = createHash("sha256").update(token).digest()
          pool.execute({ sql: sessionAndUser, values: [key], rowsAsArray: true }, (error, rows) =>
            error ? reject(error) : resolve((rows as unknown as never[])[0] ?? null),
          )
        }),
    },
    close: () => pool.promise().end(),
  }
}
