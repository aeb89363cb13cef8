import { StoreError } from "../error.js"
import type { VerificationTokenStore } from "../store.js"
import type { Database } from "./database.js"
import { failsBy } from "./statement-error.js"

export function verificationTokenStore(database: Database): VerificationTokenStore {
  const { verificationTokens } = database.tables
  const tokenByKey = `SELECT ${verificationTokens.columns("v")} FROM verification_tokens v WHERE ${verificationTokens.keyIs}`
  const deleteToken = `DELETE FROM verification_tokens WHERE ${verificationTokens.keyIs} AND expires = ?`

  return {
    create: (caller, token) =>
      database.statements(caller, async (sql) => {
        try {
          await sql.write(verificationTokens.insert, verificationTokens.insertCells(token))
          return token
        } catch (error) {
          if (!failsBy(error, "duplicate")) throw error
          throw new StoreError("VERIFICATION_TOKEN_ALREADY_EXISTS", "the identifier has this token already")
        }
      }),

    // Many may read the token, but only one statement can delete the row, and whose it was gets the token. It deletes
    // what was read, not one that was made anew with another expiry meanwhile.
    use: (caller, key) =>
      database.statements(caller, async (sql) => {
        const [cells] = await sql.read(tokenByKey, verificationTokens.keyCells(key))
        if (cells === undefined) return null
        const token = verificationTokens.row(cells)
        const condition = [...verificationTokens.keyCells(key), verificationTokens.cell("expires", token.expires)]
        return (await sql.write(deleteToken, condition)) === 1 ? token : null
      }),
  }
}
