/**
 * Returns an iterable over what `next` returns, until that is undefined. A generator keeps what it has yielded until it has the next item,
 * which may be hours later; this keeps nothing. It is read by one reader, with `next` and `return` only.
 *
 * @param end Called when the reader ends before that, but not after `next` has failed.
 */
export function itemsOf<T>(next: () => Promise<T | undefined>, end: () => Promise<unknown>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const value = await next()
        return value === undefined ? { done: true, value } : { done: false, value }
      },
      async return() {
        await end()
        return { done: true, value: undefined }
      },
    }),
  }
}
