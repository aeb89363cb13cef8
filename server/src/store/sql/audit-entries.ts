import type { AuditStore } from "../store.js"
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

export function auditStore(database: Database, tokens: PageTokens): AuditStore {
  const { auditEntries, tenants } = database.tables
  const present = tenants.statement(tenants.selectFrom("t").select("t.name").where("t.deleted IS NULL"))
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
      const insert = (some: typeof entries) =>
        database.write(waiter, [], (sql) => sql.change(some.map(({ tenant, entry }) => insertOf(tenant, entry))))
      for (let some = entries; ; ) {
        try {
          return await insert(some)
        } catch (error) {
          if (!failsBy(error, "no-parent")) throw error
          // The entries of a tenant that has been deleted meanwhile go with it, and those of the others stay.
          const names = (await database.reads(waiter).read(present, {})).map(([name]) => String(name))
          const rest = some.filter(({ tenant }) => names.includes(tenant))
          if (rest.length === some.length) throw error
          some = rest
        }
      }
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
