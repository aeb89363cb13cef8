import { hash } from "node:crypto"
import { StoreError } from "../error.js"
import type { Caller, VerificationTokenStore } from "../store.js"
import type { VerificationTokenKey } from "../types.js"
import type { Database } from "./database.js"
import { failsBy } from "./statement-error.js"

export function verificationTokenStore(database: Database): VerificationTokenStore {
  const { verificationTokens } = database.tables
  const tokenByKey = `SELECT ${verificationTokens.columns("v")} FROM verification_tokens v WHERE ${verificationTokens.keyIs}`
  const deleteToken = `DELETE FROM verification_tokens WHERE ${verificationTokens.keyIs} AND expires = ?`

  return {
    create: (caller, token) =>
      database.writes(caller, [verificationTokens.nameOf(keyOf(caller, token))], async (sql) => {
        try {
          const row = { ...keyOf(caller, token), expires: token.expires }
          await sql.write(verificationTokens.insert, verificationTokens.insertCells(row))
          return token
        } catch (error) {
          if (!failsBy(error, "duplicate")) throw error
          throw new StoreError("VERIFICATION_TOKEN_ALREADY_EXISTS", "the identifier has this token already")
        }
      }),

    // Many may read the token, but only one statement can delete the row, and whose it was gets the token. It deletes
    // what was read, not one that was made anew with another expiry meanwhile.
    use: (caller, { identifier, token }) =>
      database.writes(caller, [verificationTokens.nameOf(keyOf(caller, { identifier, token }))], async (sql) => {
        const key = verificationTokens.keyCells(keyOf(caller, { identifier, token }))
        const row = verificationTokens.first(await sql.read(tokenByKey, key))
        if (row === null) return null
        const { expires } = row
        const deleted = await sql.write(deleteToken, [...key, verificationTokens.cell("expires", expires)])
        return deleted === 1 ? { identifier, token, expires } : null
      }),
  }
}

function keyOf({ tenant }: Caller, { identifier, token }: VerificationTokenKey) {
  return { tenant, identifier, tokenHash: hash("sha256", token, "buffer") }
}
