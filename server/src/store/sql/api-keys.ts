import { StoreError } from "../../errors/store-error.js"
import type { ApiKeyStore } from "../store.js"
import type { ApiKey } from "../types.js"
import { databaseClock } from "./clock.js"
import type { Database, Reads } from "./database.js"
import type { Cell, Statements } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"
import { tenantNotFound } from "./schema/present-tenants.js"
import { tenantTurns } from "./turns.js"
import { along } from "./walks/along.js"
import { listAlong } from "./walks/list.js"
import type { PageTokens } from "./walks/page-tokens.js"
import { walks } from "./walks/walks.js"

/** The number of keys that one statement reads. */
const keysAtOnce = 1000

/**
 * The longest time between the moment in which a write of a key reads the clock of the database and its commit, in
 * milliseconds. The changes of this period are read again.
 */
const longestWriteMs = 30_000

/**
 * The number of keys of a tenant, revoked ones too, up to which callers can create some: every process keeps the valid ones and
 * reads over the others.
 */
export const maxKeysOfTenant = 1000

/** How long a revoked key stays before it makes room for a new one, in milliseconds: every process has long read of its end. */
const revokedMs = 60_000

export function apiKeyStore(database: Database): Omit<ApiKeyStore, "page"> {
  const { apiKeys } = database.tables
  const turns = tenantTurns(database)
  const allKeys = apiKeys.statement(apiKeys.selectFrom("k").orderBy("k.created").addOrderBy("k.id"))
  const validKeys = along<"apiKeys", { expires: Date }>(database, walks.apiKeysById, {
    ...{ alias: "k", select: apiKeys.columns("k"), after: ["id"], limit: keysAtOnce },
    where: "k.revoked IS NULL AND (k.expires IS NULL OR k.expires > :expires OR k.certificate_name IS NOT NULL)",
    parameters: { expires: ({ expires }) => apiKeys.cell("expires", expires) },
  })
  const changedKeys = along(database, walks.apiKeysByChange, {
    ...{ alias: "k", select: `${apiKeys.columns("k")}, k.changed`, after: ["changed", "id"], limit: keysAtOnce },
  })
  const clock = databaseClock(database)
  const revokeKey = apiKeys.statement(
    apiKeys.updateOf("revoked").where(`${apiKeys.keyIs()} AND revoked IS NULL`),
    ...apiKeys.key,
    "revoked",
  )

  const keysOfTenant = apiKeys.statement(
    apiKeys.selectFrom("k").select("k.id").where("k.tenant = :tenant").limit(maxKeysOfTenant),
    "tenant",
  )
  const revokedOfTenant = apiKeys.statement(
    apiKeys.selectFrom("k").where("k.tenant = :tenant AND k.revoked <= :revoked").limit(1),
    "tenant",
    "revoked",
  )

  /** Deletes a revoked key if the tenant has as many as callers can create. Throws INVALID_FIELD if there is none. */
  async function makeRoom(sql: Statements, { tenant, created, id }: ApiKey): Promise<void> {
    // No other process creates one meanwhile.
    await turns.take(sql, tenant, id)
    if ((await sql.read(keysOfTenant, { tenant })).length < maxKeysOfTenant) return
    const revoked = new Date(created.getTime() - revokedMs)
    const [cells] = await sql.read(revokedOfTenant, { tenant, revoked })
    if (cells === undefined) throw tooManyKeys()
    await sql.write(apiKeys.delete, { id: apiKeys.valueIn("id", cells) })
  }

  return {
    async create(waiter, key, { isLimited = false } = {}) {
      if (isLimited && key.expires !== undefined && key.expires <= key.created)
        throw new StoreError("INVALID_FIELD", "must be in the future", { field: "expire_time" })
      // The foreign key locks the tenant's row.
      const rows = [apiKeys.nameOf(key), ...turns.rowsOf(key.tenant)]
      if (isLimited) await turns.prepare(waiter)
      return database.write(waiter, rows, async (sql) => {
        if (isLimited) await makeRoom(sql, key)
        return insertKey(database, sql, key)
      })
    },

    async get(waiter, id) {
      const rows = await database.readAside(waiter, apiKeys.byKey, { id })
      return apiKeys.readable(rows, (cells) => apiKeys.row(cells))[0] ?? null
    },

    async list(waiter) {
      const rows = await database.reads(waiter).read(allKeys, {})
      return apiKeys.readable(rows, (cells) => apiKeys.row(cells))
    },

    async listValid(waiter, at, after = "") {
      const rows = await database.readAside(waiter, validKeys, { expires: at, after: { id: after } })
      const last = rows.length < keysAtOnce ? undefined : rows.at(-1)
      const keys = apiKeys.readable(rows, (cells) => apiKeys.row(cells))
      return { keys, next: last && apiKeys.valueIn("id", last) }
    },

    async listChanges(waiter, since) {
      const aside: Reads = { read: (statement, values) => database.readAside(waiter, statement, values) }
      // The clock is read first, so that the next call finds what changes in between.
      const until = await clock(aside)
      const changes: { id: string; key: ApiKey | undefined }[] = []
      if (since === undefined) return { changes, until }
      let last = { changed: new Date(since.getTime() - longestWriteMs), id: "" }
      for (;;) {
        const rows = await aside.read(changedKeys, { after: last })
        for (const cells of rows) {
          const [key] = apiKeys.readable([cells], (one) => apiKeys.row(one))
          const id = apiKeys.valueIn("id", cells)
          changes.push({ id, key: key?.revoked === undefined ? key : undefined })
          last = { changed: apiKeys.value("changed", cells[apiKeys.width] as Cell) as Date, id }
        }
        if (rows.length < keysAtOnce) return { changes, until }
      }
    },

    revoke: (waiter, id, at, tenant) =>
      database.write(waiter, [apiKeys.nameOf({ id })], async (sql) => {
        // The tenant of a key never changes.
        if (tenant !== undefined && apiKeys.first(await sql.read(apiKeys.byKey, { id }))?.tenant !== tenant) return null
        await sql.write(revokeKey, { id, revoked: at })
        return apiKeys.first(await sql.read(apiKeys.byKey, { id }))
      }),
  }
}

/** Creates the pages of the keys of a tenant. */
export function apiKeyPages(database: Database, tokens: PageTokens): ApiKeyStore["page"] {
  const { apiKeys } = database.tables
  const list = listAlong(database, walks.apiKeysOfTenant, { alias: "k", select: apiKeys.columns("k") })
  return (caller, page) => {
    const { tenant } = caller
    const [first, values, reads] = [{ id: "" }, { of: { tenant } }, database.reads(caller)]
    return list(page, {
      tokens,
      name: ["api keys", tenant],
      first,
      values,
      itemOf: (cells) => apiKeys.row(cells),
      reads,
      signal: caller.signal,
    })
  }
}

/** Inserts a key. Throws API_KEY_ALREADY_EXISTS and TENANT_NOT_FOUND. */
export async function insertKey({ tables: { apiKeys } }: Database, sql: Statements, key: ApiKey): Promise<ApiKey> {
  try {
    await sql.write(apiKeys.insert, key)
    return key
  } catch (error) {
    if (failsBy(error, "duplicate")) throw new StoreError("API_KEY_ALREADY_EXISTS", "the id of the key is taken")
    throw tenantNotFound(error)
  }
}

function tooManyKeys(): StoreError {
  const rule = `must be that of one of at most ${maxKeysOfTenant} keys of the tenant: revoke some`
  return new StoreError("INVALID_FIELD", rule, { field: "name" })
}
