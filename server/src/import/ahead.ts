/** The same items, of which the next is being made while one is worked on. */
export async function* ahead<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]()
  const begin = () => {
    const next = iterator.next()
    // Whoever takes it is told.
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
