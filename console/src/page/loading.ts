import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { isTemporary } from "./client.ts"

/** What a view shows of a call: nothing yet, its answer, or why there is none. An answer stays while it is read again. */
export interface Loaded<T> {
  answer: T | undefined
  error: unknown
  isLoading: boolean
  /** Reads again. */
  reload: () => void
}

/**
 * Makes a call when the view appears and whenever one of `inputs` changes. The answer of an earlier call is dropped. A temporary error
 * is followed by another try, after 2 seconds and then after longer, up to 30.
 */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "reload">>({
    answer: undefined,
    error: undefined,
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  const failures = useRef(0)
  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    setState((last) => ({ ...last, isLoading: true }))
    load(abort.signal).then(
      (answer) => {
        failures.current = 0
        if (!abort.signal.aborted) setState({ answer, error: undefined, isLoading: false })
      },
      (error) => {
        if (abort.signal.aborted) return
        setState((last) => ({ ...last, error, isLoading: false }))
        if (!isTemporary(error)) return
        failures.current += 1
        timer = setTimeout(() => setRound((one) => one + 1), Math.min(2000 * 2 ** (failures.current - 1), 30_000))
      },
    )
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [...inputs, round])
  return { ...state, reload: useCallback(() => setRound((one) => one + 1), []) }
}

/** Reads page after page until they have `most` items, because a page may have fewer. */
export async function upTo<Item>(
  most: number,
  read: (page: { pageSize: number; pageToken: string }) => Promise<readonly [items: Item[], nextPageToken: string]>,
): Promise<{ items: Item[]; hasMore: boolean }> {
  const items: Item[] = []
  let pageToken = ""
  do {
    const [found, next] = await read({ pageSize: most - items.length, pageToken })
    items.push(...found)
    pageToken = next
  } while (pageToken !== "" && items.length < most)
  return { items, hasMore: pageToken !== "" }
}
