import { StoreError } from "../../errors/store-error.js"
import type { ApiKeyStore } from "../store.js"
import type { Database } from "./database.js"
import { failsBy } from "./query/statement-error.js"

export function apiKeyStore(database: Database): ApiKeyStore {
  const { apiKeys, tenants } = database.tables
  const allKeys = apiKeys.statement(apiKeys.selectFrom("k").orderBy("k.created").addOrderBy("k.id"))
  const validKeys = apiKeys.statement(
    apiKeys
      .selectFrom("k")
      .where("k.revoked IS NULL AND (k.expires IS NULL OR k.expires > :expires OR k.certificate_name IS NOT NULL)"),
    "expires",
  )
  const revokeKey = apiKeys.statement(
    apiKeys.updateOf("revoked").where(`${apiKeys.keyIs()} AND revoked IS NULL`),
    ...apiKeys.key,
    "revoked",
  )

  return {
    create: (waiter, key) =>
      // The foreign key locks the tenant's row.
      database.writes(waiter, [apiKeys.nameOf(key), tenants.nameOf({ name: key.tenant })], async (sql) => {
        try {
          await sql.write(apiKeys.insert, key)
          return key
        } catch (error) {
          if (failsBy(error, "duplicate")) throw new StoreError("API_KEY_ALREADY_EXISTS", "the id of the key is taken")
          throw failsBy(error, "no-parent") ? new StoreError("TENANT_NOT_FOUND", "no such tenant") : error
        }
      }),

    get: async (waiter, id) => apiKeys.first(await database.readAside(waiter, apiKeys.byKey, { id })),

    async list(waiter) {
      const rows = await database.reads(waiter).read(allKeys, {})
      return rows.map((cells) => apiKeys.row(cells))
    },

    async listValid(waiter, at) {
      const rows = await database.readAside(waiter, validKeys, { expires: at })
      return rows.map((cells) => apiKeys.row(cells))
    },

    revoke: (waiter, id, at) =>
      database.writes(waiter, [apiKeys.nameOf({ id })], async (sql) => {
        await sql.write(revokeKey, { id, revoked: at })
        return apiKeys.first(await sql.read(apiKeys.byKey, { id }))
      }),
  }
}
