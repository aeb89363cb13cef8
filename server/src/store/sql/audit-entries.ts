import { StoreError } from "../../errors/store-error.js"
import { atMost } from "../../util/at-most.js"
import type { AuditStore, StoredAuditEntry, Waiter } from "../store.js"
import { firstTime, lastTime } from "../times.js"
import type { AuditEntry } from "../types.js"
import type { Database } from "./database.js"
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
  const { auditEntries, tenants } = database.tables
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

  const rowOf = (tenant: string, { created, method, keyId, subject, ...details }: AuditEntry) => {
    return { tenant, created, method, keyId, subject, details }
  }
  // An entry may wait while its tenant is deleted and another one of the name is created.
  const insertionOfWaiting = auditEntries.insertionSince("created")

  const insert = (waiter: Waiter, entries: readonly StoredAuditEntry[]) =>
    database.write(waiter, [], (sql) =>
      sql.change(entries.map(({ tenant, entry }) => insertionOfWaiting(rowOf(tenant, entry)))),
    )

  /** Inserts entries of one tenant. Those of one that has been deleted meanwhile go with it. */
  async function insertOwn(waiter: Waiter, name: string, entries: readonly StoredAuditEntry[]): Promise<void> {
    try {
      await insert(waiter, entries)
    } catch (error) {
      if (!failsBy(error, "no-parent")) throw error
      const tenant = tenants.first(await database.reads(waiter).read(tenants.byKey, { name }))
      const isOfTenant = ({ entry }: StoredAuditEntry) =>
        tenant !== null && tenant.deleted === undefined && entry.created >= tenant.created
      const rest = entries.filter(isOfTenant)
      if (rest.length === entries.length) throw error
      if (rest.length > 0) await insert(waiter, rest)
    }
  }

  return {
    async add(waiter, entries) {
      const failed = new Map<string, unknown>()
      const byTenant = Map.groupBy(entries, ({ tenant }) => tenant)
      const inTurn = atMost(tenantsAtOnce)
      try {
        await insert(waiter, entries)
      } catch (error) {
        const isOfAll = isOfDatabase(error) || (byTenant.size === 1 && !failsBy(error, "no-parent"))
        const stored = [...byTenant].map(async ([tenant, own]) => {
          try {
            if (isOfAll) throw error
            await inTurn(() => insertOwn(waiter, tenant, own))
          } catch (ofTenant) {
            failed.set(tenant, ofTenant)
          }
        })
        await Promise.all(stored)
      }
      return failed
    },

    together(caller, work) {
      const inTransaction = async (transaction: GroupTransaction) => {
        const { result, entries } = await work(transaction)
        for (const entry of entries)
          await transaction.changeAtCommit(auditEntries.insertion(rowOf(caller.tenant, entry)))
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
