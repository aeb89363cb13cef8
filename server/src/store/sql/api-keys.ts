import { StoreError } from "../error.js"
import type { ApiKeyStore } from "../store.js"
import type { Database } from "./database.js"
import { failsBy } from "./statement-error.js"

export function apiKeyStore(database: Database): ApiKeyStore {
  const { apiKeys, tenants } = database.tables
  const selectKey = `SELECT ${apiKeys.columns("k")} FROM api_keys k`
  const keyById = `${selectKey} WHERE ${apiKeys.keyIs}`

  return {
    create: (waiter, key) =>
      // The foreign key locks the tenant's row.
      database.writes(waiter, [apiKeys.nameOf(key), tenants.nameOf({ name: key.tenant })], async (sql) => {
        try {
          await sql.write(apiKeys.insert, apiKeys.insertCells(key))
          return key
        } catch (error) {
          if (failsBy(error, "duplicate")) throw new StoreError("API_KEY_ALREADY_EXISTS", "the id of the key is taken")
          throw failsBy(error, "no-parent") ? new StoreError("TENANT_NOT_FOUND", "no such tenant") : error
        }
      }),

    get: (waiter, id) =>
      database.statements(waiter, async (sql) => apiKeys.first(await sql.read(keyById, apiKeys.keyCells({ id })))),

    list: (waiter) =>
      database.statements(waiter, async (sql) => {
        const rows = await sql.read(`${selectKey} ORDER BY k.created, k.id`, [])
        return rows.map((cells) => apiKeys.row(cells))
      }),

    listValid: (waiter, at) =>
      database.readAside(waiter, async (sql) => {
        const valid = `${selectKey} WHERE k.revoked IS NULL AND (k.expires IS NULL OR k.expires > ?)`
        const rows = await sql.read(valid, [apiKeys.cell("expires", at)])
        return rows.map((cells) => apiKeys.row(cells))
      }),

    revoke: (waiter, id, at) =>
      database.writes(waiter, [apiKeys.nameOf({ id })], async (sql) => {
        const key = apiKeys.keyCells({ id })
        const revoke = `UPDATE api_keys SET revoked = ? WHERE ${apiKeys.keyIs} AND revoked IS NULL`
        await sql.write(revoke, [apiKeys.cell("revoked", at), ...key])
        return apiKeys.first(await sql.read(keyById, key))
      }),
  }
}
