import type { Waiter } from "../../store.js"

/** Who waits for a lookup, or for all of a batch. */
export type LookupWaiter = Pick<Waiter, "signal" | "spans">

/** Finds the row of a key, or undefined. Throws the reason of the waiter's signal when it aborts first. */
export type Lookup<Key, Row> = (key: Key, waiter: LookupWaiter) => Promise<Row | undefined>

interface PendingLookup<Key, Row> extends LookupWaiter {
  readonly key: Key
  resolve(row: Row | undefined): void
  reject(reason: unknown): void
}

export interface CoalesceOptions {
  /** The most lookups that one statement answers. */
  limit: number
  /** While this many statements run, further lookups wait until one of them ends, or until they fill a statement. */
  ahead: number
}

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
  load: (keys: readonly Key[], waiter: LookupWaiter) => Promise<readonly (Row | undefined)[]>,
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
          ? { signal: first?.signal, spans: first?.spans }
          : { signal: shared.signal, spans: spansOf(batch) },
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

  return (key, { signal, spans }) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, signal, spans, resolve, reject })
      schedule()
    })
}

/** The spans of all callers. Few calls are recorded, so that most batches have none. */
function spansOf<Key, Row>(batch: readonly PendingLookup<Key, Row>[]): Waiter["spans"] {
  return batch.some(({ spans }) => spans !== undefined) ? batch.flatMap(({ spans = [] }) => spans) : undefined
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
