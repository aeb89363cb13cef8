/** Yields the same items. While the consumer works on one item, the next one is already being fetched. */
export async function* ahead<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]()
  const begin = () => {
    const next = iterator.next()
    // Prevents an unhandled rejection. The error still reaches the code that awaits the promise.
    next.catch(() => {})
    return next
  }
  try {
    for (let next = begin(); ; ) {
      const { done, value } = await next
      if (done) return
      next = begin()
      yield value
    }
  } finally {
    await iterator.return?.()
  }
}
