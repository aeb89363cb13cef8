/** Finds the row of a key, or undefined. Throws the signal's reason when that comes first. */
export type Lookup<Key, Row> = (key: Key, signal: AbortSignal | undefined) => Promise<Row | undefined>

interface Waiter<Key, Row> {
  readonly key: Key
  readonly signal: AbortSignal | undefined
  resolve(row: Row | undefined): void
  reject(reason: unknown): void
}

/**
 * Collects the look-ups that come in one turn of the event loop, so that one statement answers them. A look-up that comes
 * alone does not wait for others.
 *
 * @param limit how many one statement answers at the most.
 * @param load finds the rows of several keys, in their order. Its signal aborts when nobody waits any more.
 */
export function coalesce<Key, Row>(
  limit: number,
  load: (keys: readonly Key[], signal: AbortSignal | undefined) => Promise<readonly (Row | undefined)[]>,
): Lookup<Key, Row> {
  let waiting: Waiter<Key, Row>[] = []

  function flush(): void {
    const all = waiting
    waiting = []
    for (let start = 0; start < all.length; start += limit) answer(all.slice(start, start + limit))
  }

  async function answer(batch: readonly Waiter<Key, Row>[]): Promise<void> {
    const [first, second] = batch
    const waited = second === undefined ? undefined : untilNobodyWaits(batch)
    try {
      const rows = await load(
        batch.map(({ key }) => key),
        waited === undefined ? first?.signal : waited.signal,
      )
      for (const [index, waiter] of batch.entries()) waiter.resolve(rows[index])
    } catch (reason) {
      for (const waiter of batch) waiter.reject(reason)
    } finally {
      waited?.end()
    }
  }

  return (key, signal) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(flush)
      waiting.push({ key, signal, resolve, reject })
    })
}

/** Lets each go when its own signal aborts; the signal that it gives aborts with the last of them. */
function untilNobodyWaits<Key, Row>(batch: readonly Waiter<Key, Row>[]) {
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
