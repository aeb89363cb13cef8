import { StoreError } from "../../errors/store-error.js"
import type { ApiKeyStore, TenantApiKeyStore } from "../store.js"
import type { ApiKey } from "../types.js"
import type { Database } from "./database.js"
import { readPage, rowsPerStatement } from "./query/page.js"
import type { PageTokens } from "./query/page-tokens.js"
import { withoutSkipped } from "./schema/unreadable-row.js"

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
    async list(caller, { size, token }) {
      const { tenant } = caller
      const list = ["api keys", tenant]
      const sql = database.reads(caller)
      const { items, next } = await readPage<ApiKey, Pick<ApiKey, "id">>({
        size,
        // No id is empty, so all of them come after it.
        after: { id: token === undefined ? "" : tokens.open<string>(list, token) },
        read: ({ id }) => sql.read(following, { tenant, id }),
        itemOf: (row) =>
          apiKeys.readableItem(
            row,
            (cells) => apiKeys.row(cells),
            (cells) => ({ id: apiKeys.valueIn("id", cells) }),
          ),
      })
      return { items: withoutSkipped(items), nextToken: next && tokens.seal(list, next.id) }
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
