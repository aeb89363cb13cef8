/** A bounded number of places; those beyond it wait in order. */
export interface Places {
  /** Waits for a place. Returns what gives it back, once. */
  enter(): Promise<() => void>
}

export function places(count: number): Places {
  const waiting: (() => void)[] = []
  let free = count
  const leave = (): void => {
    const next = waiting.shift()
    // The place passes on: a newcomer cannot overtake.
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
