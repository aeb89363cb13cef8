import type { Awaitable } from "@auth/core/types"
import { AuthwireError } from "../error.js"

/** Makes one call that is about a session. `token` is the session's, if the call has it. */
export type Bounded = <T>(method: string, token: string | undefined, call: () => Awaitable<T>) => Promise<T>

/**
 * Bounds the calls that are about sessions: each ends after `timeoutMs` with DEADLINE_EXCEEDED. Who asks again for the same
 * session within that time gets the same answer at once, because one page asks several times, one after the other.
 *
 * @param now - A monotonic clock, in milliseconds.
 */
export function sessionDeadline(timeoutMs: number, now: () => number = () => performance.now()): Bounded {
  // In the order in which they end, since all last equally long.
  const timeouts = new Map<string, { error: AuthwireError; until: number }>()

  function forget() {
    for (const [token, { until }] of timeouts) {
      if (until > now()) return
      timeouts.delete(token)
    }
  }

  return async function bounded<T>(method: string, token: string | undefined, call: () => Awaitable<T>): Promise<T> {
    forget()
    const known = token === undefined ? undefined : timeouts.get(token)
    if (known !== undefined) throw known.error
    let timer: ReturnType<typeof setTimeout> | undefined
    const timeout = new Promise<never>((_, reject) => {
      const detail = `no answer within sessionTimeoutMs, which is ${timeoutMs}`
      timer = setTimeout(() => reject(new AuthwireError({ code: "DEADLINE_EXCEEDED", method, detail })), timeoutMs)
    })
    try {
      return await Promise.race([call(), timeout])
    } catch (error) {
      if (token !== undefined && error instanceof AuthwireError && error.code === "DEADLINE_EXCEEDED") {
        timeouts.delete(token)
        timeouts.set(token, { error, until: now() + timeoutMs })
      }
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}
