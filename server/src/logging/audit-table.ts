import type { Logger } from "pino"
import type { AuditTable } from "../rpc/interceptors/audit.js"
import type { AuditStore } from "../store/store.js"
import type { AuditEntry } from "../store/types.js"

/** The most entries that wait, in all and of one tenant, and the most that one statement stores. */
export const maxWaiting = 10_000
export const maxWaitingOfTenant = 7_500
const atOnce = 100

/**
 * Stores entries of the audit in the database. Those of calls that have ended are stored one batch after another. If the
 * database does not answer or is too slow, entries are lost, and the log has their number.
 */
export function auditTable(audit: AuditStore, log: Logger): AuditTable & { stop(): Promise<void> } {
  const waiting: { tenant: string; entry: AuditEntry }[] = []
  const waitingOf = new Map<string, number>()
  let storing: Promise<void> | undefined
  let lost = 0

  async function store(): Promise<void> {
    for (;;) {
      const tenant = waiting[0]?.tenant
      if (tenant === undefined) break
      const end = waiting.findIndex((one) => one.tenant !== tenant)
      const batch = waiting.splice(0, Math.min(atOnce, end === -1 ? waiting.length : end))
      const left = (waitingOf.get(tenant) ?? 0) - batch.length
      if (left > 0) waitingOf.set(tenant, left)
      else waitingOf.delete(tenant)
      try {
        await audit.add(
          { tenant },
          batch.map(({ entry }) => entry),
        )
        if (lost > 0) log.error({ entries: lost }, "entries of the audit are lost: they could not be stored")
        lost = 0
      } catch (error) {
        if (lost === 0) log.error({ err: error }, "entries of the audit cannot be stored")
        lost += batch.length
      }
    }
    storing = undefined
  }

  return {
    together: audit.together,
    keep(entry, tenant) {
      const own = waitingOf.get(tenant) ?? 0
      if (waiting.length === maxWaiting || own === maxWaitingOfTenant) lost++
      else {
        waiting.push({ tenant, entry })
        waitingOf.set(tenant, own + 1)
      }
      storing ??= store()
    },
    /** Resolves when no entry waits any more. */
    async stop() {
      await storing
      if (lost > 0) log.error({ entries: lost }, "entries of the audit are lost: they could not be stored")
    },
  }
}
