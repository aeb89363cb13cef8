import { hash } from "node:crypto"
import { StoreError } from "../error.js"
import type { Caller, VerificationTokenStore } from "../store.js"
import type { VerificationTokenKey } from "../types.js"
import type { Database } from "./database.js"
import { failsBy } from "./engine/statement-error.js"

export function verificationTokenStore(database: Database): VerificationTokenStore {
  const { verificationTokens } = database.tables
  const deleteAsRead = verificationTokens.deleteAsRead()

  return {
    create: (caller, token) =>
      database.writes(caller, [verificationTokens.nameOf(keyOf(caller, token))], async (sql) => {
        try {
          await sql.write(verificationTokens.insert, { ...keyOf(caller, token), expires: token.expires })
          return token
        } catch (error) {
          if (!failsBy(error, "duplicate")) throw error
          throw new StoreError("VERIFICATION_TOKEN_ALREADY_EXISTS", "the identifier has this token already")
        }
      }),

    // Many may read the token, but only one statement can delete the row, and whose it was gets the token. It deletes
    // what was read, not one that was made anew with another expiry meanwhile.
    use(caller, { identifier, token }) {
      const key = keyOf(caller, { identifier, token })
      return database.writes(caller, [verificationTokens.nameOf(key)], async (sql) => {
        const [cells] = await sql.read(verificationTokens.byKey, key)
        if (cells === undefined) return null
        const deleted = await sql.write(deleteAsRead, { ...key, cells })
        return deleted === 1 ? { identifier, token, expires: verificationTokens.row(cells).expires } : null
      })
    },
  }
}

function keyOf({ tenant }: Caller, { identifier, token }: VerificationTokenKey) {
  return { tenant, identifier, tokenHash: hash("sha256", token, "buffer") }
}
