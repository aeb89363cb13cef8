import { StoreError } from "../../errors/store-error.js"
import { atMost } from "../../util/at-most.js"
import type { AuditStore, StoredAuditEntry } from "../store.js"
import { firstTime, lastTime } from "../times.js"
import type { AuditEntry } from "../types.js"
import type { Database } from "./database.js"
import type { Change } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"
import { tenantNotFound } from "./schema/present-tenants.js"
import type { GroupTransaction } from "./transaction/group-commit.js"
import { againIfUnprepared } from "./transaction/unprepared.js"
import { listAlong } from "./walks/list.js"
import type { PageTokens } from "./walks/page-tokens.js"
import { type WalkOf, walks } from "./walks/walks.js"

/** How many tenants' entries are stored at the same time, each by themselves, so that connections are left for calls. */
const tenantsAtOnce = 4

export function auditStore(database: Database, tokens: PageTokens): AuditStore {
  const { auditEntries } = database.tables
  const listOf = (walk: WalkOf<"auditEntries">) =>
    listAlong(database, walk, {
      alias: "a",
      select: auditEntries.columns("a"),
      backwards: true,
      to: ["created"],
    })
  const lists = {
    subject: listOf(walks.auditEntriesOfSubject),
    keyId: listOf(walks.auditEntriesOfKey),
    method: listOf(walks.auditEntriesOfMethod),
    tenant: listOf(walks.auditEntriesOfTenant),
  }

  const insertOf = (tenant: string, { created, method, keyId, subject, ...details }: AuditEntry): Change =>
    auditEntries.insertion({ tenant, created, method, keyId, subject, details })

  return {
    async add(waiter, entries) {
      const failed = new Map<string, unknown>()
      const inTurn = atMost(tenantsAtOnce)
      const insert = async (tenants: [string, StoredAuditEntry[]][]): Promise<void> => {
        const all = tenants.flatMap(([, own]) => own)
        try {
          await database.write(waiter, [], (sql) => sql.change(all.map(({ tenant, entry }) => insertOf(tenant, entry))))
        } catch (error) {
          if (tenants.length > 1 && !isOfDatabase(error))
            await Promise.all(tenants.map((tenant) => inTurn(() => insert([tenant]))))
          // The entries of a tenant that has been deleted meanwhile go with it.
          else if (!failsBy(error, "no-parent")) for (const [tenant] of tenants) failed.set(tenant, error)
        }
      }
      await insert([...Map.groupBy(entries, ({ tenant }) => tenant)])
      return failed
    },

    together(caller, work) {
      const inTransaction = async (transaction: GroupTransaction) => {
        const { result, entries } = await work(transaction)
        for (const entry of entries) await transaction.changeAtCommit(insertOf(caller.tenant, entry))
        return result
      }
      return againIfUnprepared(caller, () => database.write(caller, [], inTransaction)).catch((error: unknown) => {
        throw tenantNotFound(error)
      })
    },

    async list(caller, filter, page) {
      const { tenant } = caller
      const { subject, keyId, method, since = firstTime, before = lastTime } = filter
      const by = (["subject", "keyId", "method"] as const).find((name) => filter[name] !== undefined) ?? "tenant"
      return lists[by](page, {
        tokens,
        name: ["audit entries", tenant, JSON.stringify(filter)],
        first: { created: before, id: 0 },
        values: { of: { tenant, subject, keyId, method }, to: { created: since } },
        itemOf(cells): AuditEntry {
          const { id: _, tenant: __, details, ...row } = auditEntries.row(cells)
          return { ...row, ...details }
        },
        reads: database.reads(caller),
        signal: caller.signal,
      })
    },
  }
}

/** Returns whether a write of any tenant would fail as well. */
function isOfDatabase(error: unknown): boolean {
  return error instanceof StoreError && (error.reason === "DATABASE_UNAVAILABLE" || error.reason === "QUEUE_FULL")
}
