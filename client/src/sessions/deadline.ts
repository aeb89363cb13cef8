import type { Awaitable } from "@auth/core/types"
import { AuthwireError } from "../errors/error.js"
import { afterReading } from "../transport/after-reading.js"

/** Makes one call about a session, with a timeout. `token` is the session token, if the call has one. */
export type Bounded = <T>(method: string, token: string | undefined, call: () => Awaitable<T>) => Promise<T>

/**
 * Limits the duration of calls about sessions: each call ends after `timeoutMs` with DEADLINE_EXCEEDED. For the same
 * time after a timeout, further calls for the same session fail at once with the same error, because one page often
 * reads its session several times in a row.
 */
export function sessionDeadline(timeoutMs: number): Bounded {
  // Ordered by expiry, because all entries have the same lifetime.
  const timeouts = new Map<string, { error: AuthwireError; until: number }>()

  function forget() {
    for (const [token, { until }] of timeouts) {
      if (until > performance.now()) return
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
      const expired = () => reject(new AuthwireError({ code: "DEADLINE_EXCEEDED", method, detail }))
      timer = afterReading(timeoutMs, expired)
    })
    try {
      return await Promise.race([call(), timeout])
    } catch (error) {
      if (token !== undefined && error instanceof AuthwireError && error.code === "DEADLINE_EXCEEDED") {
        timeouts.delete(token)
        timeouts.set(token, { error, until: performance.now() + timeoutMs })
      }
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}
