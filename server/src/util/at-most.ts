/** Returns a function that runs at most `most` pieces of work at the same time. The others wait, in their order. */
export function atMost(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let active = 0
  return async (work) => {
    if (active < most) active++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) active--
      else next()
    }
  }
}
