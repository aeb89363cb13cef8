import { hash } from "node:crypto"
import { StoreError } from "../../errors/store-error.js"
import type { Caller, VerificationTokenStore } from "../store.js"
import type { VerificationTokenKey } from "../types.js"
import type { Database } from "./database.js"
import type { EventOf } from "./events/event-rows.js"
import { sharedLookup } from "./query/batched-lookup.js"
import type { Statements } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"
import { tenantNotFound } from "./schema/present-tenants.js"

export function verificationTokenStore(database: Database, eventOf: EventOf): VerificationTokenStore {
  const { verificationTokens } = database.tables
  const deletionIfUnchanged = verificationTokens.deletionIfUnchanged()
  const byKey = sharedLookup(database, {
    from: () => verificationTokens.selectFrom("v"),
    columns: verificationTokens.columns("v"),
    alias: "v",
    key: ["identifier", "tokenHash"],
  })

  return {
    create: (caller, token) =>
      database.write(caller, [verificationTokens.nameOf(keyOf(caller, token))], async (sql) => {
        try {
          const row = { ...keyOf(caller, token), expires: token.expires }
          await sql.change([verificationTokens.insertion(row), ...eventOf(caller, "verification_token.created")])
          return token
        } catch (error) {
          if (!failsBy(error, "duplicate")) throw tenantNotFound(error)
          throw new StoreError("VERIFICATION_TOKEN_ALREADY_EXISTS", "the identifier has this token already")
        }
      }),

    // Concurrent calls may read the token, but only one statement can delete the row, and its caller gets the token.
    // The statement deletes only what was read, not a token that was created again with another expiry meanwhile.
    async use(caller, { identifier, token }) {
      const key = keyOf(caller, { identifier, token })
      const cells = await byKey(caller, [
        verificationTokens.cell("identifier", key.identifier),
        verificationTokens.cell("tokenHash", key.tokenHash),
      ])
      if (cells === undefined) return null
      const deleteIt = async (sql: Statements) => {
        try {
          await sql.change([deletionIfUnchanged({ ...key, cells }), ...eventOf(caller, "verification_token.used")])
          return { identifier, token, expires: verificationTokens.row(cells).expires }
        } catch (error) {
          if (failsBy(error, "unmatched")) return null
          throw error
        }
      }
      return database.write(caller, [verificationTokens.nameOf(key)], deleteIt)
    },
  }
}

function keyOf({ tenant }: Caller, { identifier, token }: VerificationTokenKey) {
  return { tenant, identifier, tokenHash: hash("sha256", token, "buffer") }
}
