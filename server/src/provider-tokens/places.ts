/** A semaphore with a limited number of slots. Further callers wait in order of arrival. */
export interface Places {
  /** Waits for a slot. Returns a function that releases it and must be called once. */
  enter(): Promise<() => void>
}

export function places(count: number): Places {
  const waiting: (() => void)[] = []
  let free = count
  const leave = (): void => {
    const next = waiting.shift()
    // The slot is handed to the next waiter directly, so that a new caller cannot overtake it.
    if (next === undefined) free++
    else next()
  }
  return {
    async enter() {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return leave
    },
  }
}
