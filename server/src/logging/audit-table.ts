import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "pino"
import { StoreError } from "../errors/store-error.js"
import type { AuditTable } from "../rpc/interceptors/audit.js"
import type { AuditStore } from "../store/store.js"
import type { AuditEntry } from "../store/types.js"
import { type EntryLine, entryLine } from "./entry-line.js"

/** The most entries that wait, in all and of one tenant, and the most that one statement stores. */
export const maxWaiting = 10_000
export const maxWaitingOfTenant = 7_500
const atOnce = 100
/** The time between two tries to store the entries of tenants whose entries could not be stored. */
const pauseMs = 1_000

/** What waits of one tenant. */
interface Waiting {
  /** Entries of writes and of refused calls. */
  readonly kept: EntryLine
  /** Entries of calls that change nothing, of which there may be many. They are the first to be dropped. */
  readonly routine: EntryLine
  /** The number of calls whose entries were dropped since the last that was stored, and when the last of them was made. */
  dropped: number
  droppedAt: Date
  /** Whether its last entries could not be stored. Then they are not stored with those of others, who would wait as well. */
  isFailing: boolean
}

/** What a batch has of one tenant. */
interface Taken extends Pick<Waiting, "dropped" | "droppedAt"> {
  readonly tenant: string
  readonly own: Waiting
  readonly kept: readonly AuditEntry[]
  readonly routine: readonly AuditEntry[]
}

const sizeOf = ({ kept, routine }: Waiting) => kept.size + routine.size

/**
 * Stores entries of the audit in the database. Those of calls that have ended are stored one batch after another, in which each tenant
 * has its share. Entries that could not be stored wait again, so a few may be stored twice if the connection is lost. If the database does
 * not answer or is too slow, entries of the tenant with the most are dropped. Then their number is in the log, and in an entry of the tenant.
 */
export function auditTable(audit: AuditStore, log: Logger): AuditTable & { stop(): Promise<void> } {
  const waiting = new Map<string, Waiting>()
  let count = 0
  /** The batches that are being stored: one of tenants whose entries could not be stored before, and one of the others. */
  const storing = new Map<boolean, Promise<void>>()
  const ending = new AbortController()
  /** How many entries were dropped since the last line of the log. */
  let lost = 0

  function waitingOf(tenant: string): Waiting {
    const own = waiting.get(tenant) ?? {
      kept: entryLine(),
      routine: entryLine(),
      dropped: 0,
      droppedAt: new Date(0),
      isFailing: false,
    }
    waiting.set(tenant, own)
    return own
  }

  function drop(own: Waiting, { created, count: calls = 1 }: AuditEntry): void {
    own.dropped += calls
    own.droppedAt = created
    lost++
  }

  /** Drops an entry of the tenant with the most if there are more than may wait. `own` has just got one more. */
  function dropExcess(own: Waiting): void {
    let longest = own
    if (sizeOf(own) <= maxWaitingOfTenant) {
      if (count <= maxWaiting) return
      for (const one of waiting.values()) if (sizeOf(one) > sizeOf(longest)) longest = one
    }
    const dropped = (longest.routine.size > 0 ? longest.routine : longest.kept).drop()
    if (dropped === undefined) return
    count--
    drop(longest, dropped)
  }

  /** Removes the next batch: of each tenant its share, and those that wait longest first. */
  function next(isFailing: boolean): Taken[] {
    const tenants = [...waiting]
      .filter(([, own]) => own.isFailing === isFailing && (sizeOf(own) > 0 || own.dropped > 0))
      .slice(0, atOnce)
    const share = Math.floor(atOnce / tenants.length)
    return tenants.map(([tenant, own]) => {
      const kept = own.kept.take(share)
      const routine = own.routine.take(share - kept.length)
      count -= kept.length + routine.length
      const { dropped, droppedAt } = own
      own.dropped = 0
      // A tenant with more has its next turn after the others.
      waiting.delete(tenant)
      waiting.set(tenant, own)
      return { tenant, own, kept, routine, dropped, droppedAt }
    })
  }

  /** Keeps what could not be stored for the next try, or drops what would fail again. */
  function putBack({ tenant, own, kept, routine, dropped, droppedAt }: Taken, error: unknown): void {
    own.isFailing = true
    own.dropped += dropped
    if (droppedAt > own.droppedAt) own.droppedAt = droppedAt
    if (error instanceof StoreError && !ending.signal.aborted) {
      own.kept.putBack(kept)
      own.routine.putBack(routine)
      count += kept.length + routine.length
      return
    }
    for (const entry of [...kept, ...routine]) drop(own, entry)
    if (!ending.signal.aborted) return
    count -= sizeOf(own)
    lost += sizeOf(own)
    waiting.delete(tenant)
  }

  async function store(batch: readonly Taken[], isFailing: boolean): Promise<void> {
    const entries = batch.flatMap(({ tenant, kept, routine, dropped, droppedAt }) => {
      const loss: AuditEntry = { created: droppedAt, method: "", code: "DATA_LOSS", count: dropped }
      return [...kept, ...routine, ...(dropped > 0 ? [loss] : [])].map((entry) => ({ tenant, entry }))
    })
    const failed = await audit
      .add({}, entries)
      .catch((error: unknown) => new Map(batch.map(({ tenant }) => [tenant, error])))
    if (failed.size > 0 && ![...waiting.values()].some((own) => own.isFailing))
      log.error({ err: [...failed.values()][0] }, "entries of the audit cannot be stored")
    for (const taken of batch) {
      const { tenant, own } = taken
      if (failed.has(tenant)) putBack(taken, failed.get(tenant))
      else {
        own.isFailing = false
        if (sizeOf(own) === 0 && own.dropped === 0) waiting.delete(tenant)
      }
    }
    if (failed.size < batch.length) logLost()
    if (failed.size > 0 && isFailing)
      await delay(pauseMs, undefined, { ref: false, signal: ending.signal }).catch(() => {})
  }

  function logLost(): void {
    if (lost > 0) log.error({ entries: lost }, "entries of the audit are lost: they could not be stored")
    lost = 0
  }

  /** Stores the next batch, and those after it. */
  function start(isFailing: boolean): void {
    if (storing.has(isFailing)) return
    const batch = next(isFailing)
    if (batch.length === 0) return
    const stored = store(batch, isFailing).then(() => {
      storing.delete(isFailing)
      start(false)
      start(true)
    })
    storing.set(isFailing, stored)
  }

  return {
    together: audit.together,
    keep(entry, tenant, isRoutine) {
      const own = waitingOf(tenant)
      ;(isRoutine ? own.routine : own.kept).add(entry)
      count++
      dropExcess(own)
      start(own.isFailing)
    },
    /** Resolves when no entry waits any more. What cannot be stored now is lost. */
    async stop() {
      ending.abort()
      while (storing.size > 0) await Promise.all(storing.values())
      logLost()
    },
  }
}
