import { StoreError } from "../../errors/store-error.js"
import type { ApiKeyStore, TenantApiKeyStore } from "../store.js"
import type { ApiKey } from "../types.js"
import type { Database } from "./database.js"
import { readList, rowsPerStatement } from "./query/page.js"
import type { PageTokens } from "./query/page-tokens.js"

/** @param options.clock the time in milliseconds since 1970-01-01T00:00:00Z. */
export function tenantApiKeyStore(
  database: Database,
  { all, tokens, clock }: { all: ApiKeyStore; tokens: PageTokens; clock: () => number },
): TenantApiKeyStore {
  const { apiKeys } = database.tables
  const following = apiKeys.statement(
    apiKeys
      .selectFrom("k")
      .where("k.tenant = :tenant AND k.id > :id")
      .orderBy("k.tenant")
      .addOrderBy("k.id")
      .limit(rowsPerStatement),
    "tenant",
    "id",
  )

  return {
    async list(caller, page) {
      const { tenant } = caller
      const sql = database.reads(caller)
      return readList<ApiKey, string>(page, {
        tokens,
        name: ["api keys", tenant],
        first: "",
        read: (id) => sql.read(following, { tenant, id }),
        table: apiKeys,
        itemOf: (cells) => apiKeys.row(cells),
        positionOf: (cells) => apiKeys.valueIn("id", cells),
      })
    },

    async create(caller, key) {
      const created = new Date(clock())
      if (key.expires !== undefined && key.expires <= created)
        throw new StoreError("INVALID_FIELD", "must be in the future", { field: "expire_time" })
      return all.create(caller, { ...key, tenant: caller.tenant, created }, { isLimited: true })
    },

    revoke: (caller, id) => all.revoke(caller, id, new Date(clock()), caller.tenant),
  }
}
