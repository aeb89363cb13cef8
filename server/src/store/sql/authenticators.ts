import { StoreError } from "../error.js"
import type { AuthenticatorStore } from "../store.js"
import type { Database } from "./database.js"
import { failsBy } from "./engine/statement-error.js"
import { checkJsonSize } from "./extra.js"
import type { ProvisionalUsers } from "./provisional-users.js"
import { userNotFound } from "./user-not-found.js"

export function authenticatorStore(database: Database, provisional: ProvisionalUsers): AuthenticatorStore {
  const { authenticators, users } = database.tables
  const authenticatorsByUserId = authenticators.statement(
    authenticators.selectFrom("a").where("a.tenant = :tenant AND a.userId = :userId").orderBy("a.credentialID"),
    "tenant",
    "userId",
  )
  const raiseCounter = authenticators.statement(
    authenticators.updateOf("counter").where(`${authenticators.keyIs()} AND counter <= :counter`),
    ...authenticators.key,
    "counter",
  )

  return {
    async create(caller, authenticator) {
      checkJsonSize("extra", authenticator.extra)
      const row = { ...authenticator, tenant: caller.tenant }
      // The foreign key locks the user's row.
      const rows = [authenticators.nameOf(row), users.nameOf({ tenant: row.tenant, id: row.userId })]
      try {
        await provisional.write(caller, row.userId, rows, (sql) => sql.write(authenticators.insert, row))
        return authenticator
      } catch (error) {
        if (failsBy(error, "duplicate")) {
          throw new StoreError("AUTHENTICATOR_ALREADY_EXISTS", "the credential id is taken")
        }
        throw failsBy(error, "no-parent") ? userNotFound() : error
      }
    },

    get: (caller, credentialID) =>
      database.statements(caller, async (sql) => {
        const key = { tenant: caller.tenant, credentialID }
        return authenticators.first(await sql.read(authenticators.byKey, key))
      }),

    listByUserId: (caller, userId) =>
      database.statements(caller, async (sql) => {
        const rows = await sql.read(authenticatorsByUserId, { tenant: caller.tenant, userId })
        return rows.map((cells) => authenticators.row(cells))
      }),

    updateCounter(caller, credentialID, newCounter) {
      const key = { tenant: caller.tenant, credentialID }
      return database.writes(caller, [authenticators.nameOf(key)], async (sql) => {
        for (;;) {
          const raised = await sql.write(raiseCounter, { ...key, counter: newCounter })
          const authenticator = authenticators.first(await sql.read(authenticators.byKey, key))
          if (authenticator === null || raised === 1) return authenticator
          if (authenticator.counter > newCounter) {
            throw new StoreError("COUNTER_REGRESSION", "the new counter is lower than the stored one")
          }
          // It was made between the two statements.
        }
      })
    },
  }
}
