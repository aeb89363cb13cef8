/** A semaphore with a limited number of permits. Further callers wait in order of arrival. */
export interface Semaphore {
  /** Waits for a permit. Returns a function that releases it and must be called once. */
  acquire(): Promise<() => void>
}

export function semaphore(count: number): Semaphore {
  const waiting: (() => void)[] = []
  let free = count
  const release = (): void => {
    const next = waiting.shift()
    // The permit is handed to the next waiter directly, so that a new caller cannot overtake it.
    if (next === undefined) free++
    else next()
  }
  return {
    async acquire() {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return release
    },
  }
}
