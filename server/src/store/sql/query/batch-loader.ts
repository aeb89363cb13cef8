import type { Owner } from "../../../util/owner.js"
import type { Waiter } from "../../store.js"

/** Finds the row of a key, or undefined. Throws the reason of the waiter's signal when it aborts first. */
export type Lookup<Key, Row> = (key: Key, waiter: Waiter) => Promise<Row | undefined>

interface PendingLookup<Key, Row> {
  readonly key: Key
  readonly signal: Waiter["signal"]
  readonly owner: Waiter["owner"]
  readonly spans: Waiter["spans"]
  resolve(row: Row | undefined): void
  reject(reason: unknown): void
}

export interface CoalesceOptions {
  /** The most lookups that one statement answers. */
  limit: number
  /** While this many statements run, further lookups wait until one of them ends, or until they fill a statement. */
  ahead: number
}

/** The owners of batches for several keys of a tenant, and for several tenants. No key has this id, and no tenant this name. */
const several = " several"
const severalTenants: Owner = { tenant: several, keyId: undefined }

/** About the longest time that a lookup waits for a running statement, in milliseconds: that statement may hang. */
const longestWaitMs = 1

/**
 * Batches lookups, so that one statement answers several: lookups of the same turn of the event loop, and lookups that come
 * while statements run. Under little load each lookup has a statement of its own at once.
 *
 * @param load Finds the rows of several keys, in their order. Its waiter stands for all callers of the batch: its signal
 *   aborts when all of them have given up.
 */
export function coalesce<Key, Row>(
  { limit, ahead }: CoalesceOptions,
  load: (keys: readonly Key[], waiter: Waiter) => Promise<readonly (Row | undefined)[]>,
): Lookup<Key, Row> {
  let waiting: PendingLookup<Key, Row>[] = []
  let active = 0
  let isScheduled = false
  let started = 0
  let isTimed = false

  /** Flushes at the end of this turn, which may bring more lookups. */
  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    queueMicrotask(flush)
  }

  function flush(): void {
    isScheduled = false
    while (waiting.length >= limit || (waiting.length > 0 && active < ahead)) startBatch()
    if (waiting.length === 0 || isTimed) return
    isTimed = true
    setTimeout(startLate, longestWaitMs, started)
  }

  function startLate(countBefore: number): void {
    isTimed = false
    // If another statement has started meanwhile, the lookups that wait now came after it.
    if (waiting.length > 0 && started === countBefore) startBatch()
    flush()
  }

  async function startBatch(): Promise<void> {
    const batch = waiting.slice(0, limit)
    waiting = waiting.slice(limit)
    started++
    active++
    const [first, second] = batch
    const shared = second === undefined ? undefined : sharedSignal(batch)
    try {
      const rows = await load(
        batch.map(({ key }) => key),
        shared === undefined
          ? { signal: first?.signal, owner: first?.owner, spans: first?.spans }
          : { signal: shared.signal, owner: ownerOf(batch), spans: spansOf(batch) },
      )
      for (const [index, waiter] of batch.entries()) waiter.resolve(rows[index])
    } catch (reason) {
      for (const waiter of batch) waiter.reject(reason)
    } finally {
      shared?.end()
      active--
      if (waiting.length > 0) schedule()
    }
  }

  return (key, { signal, owner, spans }) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, signal, owner, spans, resolve, reject })
      schedule()
    })
}

/** The spans of all callers. Few calls are recorded, so that most batches have none. */
function spansOf<Key, Row>(batch: readonly PendingLookup<Key, Row>[]): Waiter["spans"] {
  return batch.some(({ spans }) => spans !== undefined) ? batch.flatMap(({ spans = [] }) => spans) : undefined
}

/**
 * A batch of several owners takes turns of its own, so that it does not wait behind the other work of one of them: as one key of their
 * tenant, or as one tenant.
 */
function ownerOf<Key, Row>([first, ...others]: readonly PendingLookup<Key, Row>[]): Waiter["owner"] {
  const { tenant, keyId } = first?.owner ?? {}
  if (others.some(({ owner }) => owner?.tenant !== tenant)) return severalTenants
  const isOfOneKey = tenant === undefined || others.every(({ owner }) => owner?.keyId === keyId)
  return isOfOneKey ? first?.owner : { tenant, keyId: several }
}

/**
 * Rejects each lookup when its own signal aborts. The shared signal aborts with the last of them. If one of them has no signal, there
 * is no shared one either, so that the load gives up on a lock when a call without a signal does.
 */
function sharedSignal<Key, Row>(batch: readonly PendingLookup<Key, Row>[]) {
  const all = new AbortController()
  let left = batch.length
  const removers = batch.map(({ signal, reject }) => {
    const giveUp = () => {
      reject(signal?.reason)
      left--
      if (left === 0) all.abort(signal?.reason)
    }
    if (signal?.aborted) giveUp()
    else signal?.addEventListener("abort", giveUp, { once: true })
    return () => signal?.removeEventListener("abort", giveUp)
  })
  return {
    signal: batch.every(({ signal }) => signal !== undefined) ? all.signal : undefined,
    end() {
      for (const remove of removers) remove()
    },
  }
}
