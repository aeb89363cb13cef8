import { StoreError } from "../error.js"
import type { AuthenticatorStore } from "../store.js"
import type { Database } from "./database.js"
import { checkJsonSize } from "./extra.js"
import { failsBy } from "./statement-error.js"
import { userNotFound } from "./user-not-found.js"

export function authenticatorStore(database: Database): AuthenticatorStore {
  const { authenticators, users } = database.tables
  const selectAuthenticator = `SELECT ${authenticators.columns("a")} FROM authenticators a`
  const authenticatorById = `${selectAuthenticator} WHERE ${authenticators.keyIs}`
  const authenticatorsByUserId = `${selectAuthenticator} WHERE a.tenant = ? AND a.user_id = ? ORDER BY a.credential_id`
  const raiseCounter = `UPDATE authenticators SET counter = ? WHERE ${authenticators.keyIs} AND counter <= ?`

  return {
    async create(caller, authenticator) {
      checkJsonSize("extra", authenticator.extra)
      const row = { ...authenticator, tenant: caller.tenant }
      // The foreign key locks the user's row.
      const rows = [authenticators.nameOf(row), users.nameOf({ tenant: row.tenant, id: row.userId })]
      return database.writes(caller, rows, async (sql) => {
        try {
          await sql.write(authenticators.insert, authenticators.insertCells(row))
          return authenticator
        } catch (error) {
          if (failsBy(error, "duplicate")) {
            throw new StoreError("AUTHENTICATOR_ALREADY_EXISTS", "the credential id is taken")
          }
          throw failsBy(error, "no-parent") ? userNotFound() : error
        }
      })
    },

    get: (caller, credentialID) =>
      database.statements(caller, async (sql) => {
        const key = authenticators.keyCells({ tenant: caller.tenant, credentialID })
        return authenticators.first(await sql.read(authenticatorById, key))
      }),

    listByUserId: (caller, userId) =>
      database.statements(caller, async (sql) => {
        const rows = await sql.read(authenticatorsByUserId, [
          authenticators.cell("tenant", caller.tenant),
          authenticators.cell("userId", userId),
        ])
        return rows.map((cells) => authenticators.row(cells))
      }),

    updateCounter: (caller, credentialID, newCounter) =>
      database.writes(caller, [authenticators.nameOf({ tenant: caller.tenant, credentialID })], async (sql) => {
        const key = authenticators.keyCells({ tenant: caller.tenant, credentialID })
        for (;;) {
          const raised = await sql.write(raiseCounter, [newCounter, ...key, newCounter])
          const authenticator = authenticators.first(await sql.read(authenticatorById, key))
          if (authenticator === null || raised === 1) return authenticator
          if (authenticator.counter > newCounter) {
            throw new StoreError("COUNTER_REGRESSION", "the new counter is lower than the stored one")
          }
          // It was made between the two statements.
        }
      }),
  }
}
