import type { Waiter } from "../../store.js"

/** Finds the row of a key, or undefined. Throws the reason of the waiter's signal when that comes first. */
export type Lookup<Key, Row> = (key: Key, waiter: Waiter) => Promise<Row | undefined>

interface Waiting<Key, Row> {
  readonly key: Key
  readonly signal: Waiter["signal"]
  readonly aside: Waiter["aside"]
  readonly spans: Waiter["spans"]
  resolve(row: Row | undefined): void
  reject(reason: unknown): void
}

export interface CoalesceOptions {
  /** How many lookups one statement answers at the most. */
  limit: number
  /** While so many statements are active, the next one waits for one of them to end, or to be full. */
  ahead: number
}

/** The longest that a lookup waits for others, about, in milliseconds: the statements before it may hang. */
const longestWaitMs = 1

/**
 * Collects lookups, so that one statement answers several: those that come in one turn of the event loop, and those that
 * come while others are active. When there are few, each goes at once and alone.
 *
 * @param load finds the rows of several keys, in their order. Its waiter stands for all who wait: the signal aborts when
 *   nobody does any more.
 */
export function coalesce<Key, Row>(
  { limit, ahead }: CoalesceOptions,
  load: (keys: readonly Key[], waiter: Waiter) => Promise<readonly (Row | undefined)[]>,
): Lookup<Key, Row> {
  let waiting: Waiting<Key, Row>[] = []
  let active = 0
  let isPlanned = false
  let begun = 0
  let isTimed = false

  /** At the end of this turn, which may bring more. */
  function plan(): void {
    if (isPlanned) return
    isPlanned = true
    queueMicrotask(flush)
  }

  function flush(): void {
    isPlanned = false
    while (waiting.length >= limit || (waiting.length > 0 && active < ahead)) next()
    if (waiting.length === 0 || isTimed) return
    isTimed = true
    setTimeout(hurry, longestWaitMs, begun)
  }

  function hurry(begunBefore: number): void {
    isTimed = false
    // If another statement has begun meanwhile, those who wait now have come since.
    if (waiting.length > 0 && begun === begunBefore) next()
    flush()
  }

  function next(): void {
    const batch = waiting.slice(0, limit)
    waiting = waiting.slice(limit)
    begun++
    active++
    answer(batch)
  }

  async function answer(batch: readonly Waiting<Key, Row>[]): Promise<void> {
    const [first, second] = batch
    const waited = second === undefined ? undefined : untilNobodyWaits(batch)
    try {
      const rows = await load(
        batch.map(({ key }) => key),
        waited === undefined
          ? { signal: first?.signal, aside: first?.aside, spans: first?.spans }
          : { signal: waited.signal, spans: spansOf(batch) },
      )
      for (const [index, waiter] of batch.entries()) waiter.resolve(rows[index])
    } catch (reason) {
      for (const waiter of batch) waiter.reject(reason)
    } finally {
      waited?.end()
      active--
      if (waiting.length > 0) plan()
    }
  }

  return (key, { signal, aside, spans }) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, signal, aside, spans, resolve, reject })
      plan()
    })
}

/** Those of all who wait; few calls are recorded, so most have none. */
function spansOf<Key, Row>(batch: readonly Waiting<Key, Row>[]): Waiter["spans"] {
  return batch.some(({ spans }) => spans !== undefined) ? batch.flatMap(({ spans = [] }) => spans) : undefined
}

/** Lets each go when its own signal aborts; the signal that it gives aborts with the last of them. */
function untilNobodyWaits<Key, Row>(batch: readonly Waiting<Key, Row>[]) {
  const all = new AbortController()
  let left = batch.length
  const leaves = batch.map(({ signal, reject }) => {
    const leave = () => {
      reject(signal?.reason)
      left--
      if (left === 0) all.abort(signal?.reason)
    }
    if (signal?.aborted) leave()
    else signal?.addEventListener("abort", leave, { once: true })
    return () => signal?.removeEventListener("abort", leave)
  })
  return {
    signal: all.signal,
    end() {
      for (const remove of leaves) remove()
    },
  }
}
