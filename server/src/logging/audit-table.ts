import type { Logger } from "pino"
import type { AuditTable } from "../rpc/interceptors/audit.js"
import type { AuditStore, StoredAuditEntry } from "../store/store.js"
import type { AuditEntry } from "../store/types.js"

/** The most entries that wait, in all and of one tenant, and the most that one statement stores. */
export const maxWaiting = 10_000
export const maxWaitingOfTenant = 7_500
const atOnce = 100

/** What waits of one tenant. */
interface Waiting {
  /** Entries of writes and of refused calls. */
  readonly kept: AuditEntry[]
  /** Entries of calls that have changed nothing, of which there may be many. They are the first to be dropped. */
  readonly routine: AuditEntry[]
  /** How many entries were dropped since the last that was stored, and when the last of their calls was made. */
  dropped: number
  droppedAt: Date
}

const sizeOf = ({ kept, routine }: Waiting) => kept.length + routine.length

/**
 * Stores entries of the audit in the database. Those of calls that have ended are stored one batch after another, in which each tenant
 * has its share. If the database does not answer or is too slow, entries of the tenant with the most are dropped. Then their number is
 * in the log, and in an entry of the tenant.
 */
export function auditTable(audit: AuditStore, log: Logger): AuditTable & { stop(): Promise<void> } {
  const waiting = new Map<string, Waiting>()
  let count = 0
  let storing: Promise<void> | undefined
  /** How many entries were dropped since the last line of the log. */
  let lost = 0

  function waitingOf(tenant: string): Waiting {
    const own = waiting.get(tenant) ?? { kept: [], routine: [], dropped: 0, droppedAt: new Date(0) }
    waiting.set(tenant, own)
    return own
  }

  function drop(own: Waiting, created: Date, entries = 1): void {
    own.dropped += entries
    own.droppedAt = created
    lost += entries
  }

  /** Makes room for an entry of a tenant. Returns false if it is the one to be dropped. */
  function makeRoom(own: Waiting, isRoutine: boolean): boolean {
    if (count < maxWaiting && sizeOf(own) < maxWaitingOfTenant) return true
    let longest = own
    if (sizeOf(own) < maxWaitingOfTenant)
      for (const one of waiting.values()) if (sizeOf(one) > sizeOf(longest)) longest = one
    const least = longest.routine.length > 0 ? longest.routine : longest.kept
    if (longest === own && isRoutine && least === own.kept) return false
    const dropped = least.pop()
    if (dropped === undefined) return false
    count--
    drop(longest, dropped.created)
    return true
  }

  /** Removes the next batch: of each tenant its share, and those that wait longest first. */
  function next(): StoredAuditEntry[] {
    const share = Math.max(1, Math.floor(atOnce / waiting.size))
    const batch: StoredAuditEntry[] = []
    for (const [tenant, own] of [...waiting]) {
      if (batch.length >= atOnce) break
      const entries = own.kept.splice(0, share)
      entries.push(...own.routine.splice(0, share - entries.length))
      count -= entries.length
      if (own.dropped > 0) entries.push({ created: own.droppedAt, method: "", code: "DATA_LOSS", count: own.dropped })
      own.dropped = 0
      batch.push(...entries.map((entry) => ({ tenant, entry })))
      // A tenant with more has its next turn after the others.
      waiting.delete(tenant)
      if (sizeOf(own) > 0) waiting.set(tenant, own)
    }
    return batch
  }

  async function store(): Promise<void> {
    let isWorking = true
    while (count > 0 || (isWorking && waiting.size > 0)) {
      const batch = next()
      try {
        await audit.add({}, batch)
        if (lost > 0) log.error({ entries: lost }, "entries of the audit are lost: they could not be stored")
        lost = 0
        isWorking = true
      } catch (error) {
        if (lost === 0) log.error({ err: error }, "entries of the audit cannot be stored")
        isWorking = false
        for (const { tenant, entry } of batch) {
          const isSummary = entry.code === "DATA_LOSS"
          if (isSummary) lost -= entry.count ?? 0
          drop(waitingOf(tenant), entry.created, isSummary ? entry.count : 1)
        }
      }
    }
    storing = undefined
  }

  return {
    together: audit.together,
    keep(entry, tenant, isRoutine) {
      const own = waitingOf(tenant)
      if (makeRoom(own, isRoutine)) {
        count++
        ;(isRoutine ? own.routine : own.kept).push(entry)
      } else drop(own, entry.created)
      storing ??= store()
    },
    /** Resolves when no entry waits any more. */
    async stop() {
      await storing
      if (lost > 0) log.error({ entries: lost }, "entries of the audit are lost: they could not be stored")
    },
  }
}
