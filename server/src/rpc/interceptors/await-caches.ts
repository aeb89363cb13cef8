import type { Message } from "@bufbuild/protobuf"
import type { Confirmed } from "../../session-cache/awaiting.js"
import type { Call } from "../call.js"
import { Failure } from "../errors.js"
import type { Interceptor } from "../interceptor.js"

/**
 * How long before the deadline a call is told that it was done, but not confirmed, in milliseconds. The answer must come before the
 * caller gives up, also over a long way and to a process that is busy.
 */
const spareMs = 250

/**
 * Answers calls with `await_caches` when no client of their tenant uses any more what they have ended. Around what commits: their idempotency
 * keys, too.
 */
export function awaitCaches(confirmed: Confirmed): Interceptor {
  return {
    unary(method, next) {
      if (!method.input.fields.some(({ name }) => name === "await_caches")) return next
      return async (request, call) => {
        if ((request as Message & { awaitCaches?: boolean }).awaitCaches !== true) return next(request, call)
        let answer: Message | undefined
        let absence: Failure | undefined
        try {
          answer = await next(request, call)
        } catch (error) {
          // What an earlier call has ended may still be in use.
          if (!(error instanceof Failure && error.reason === "SESSION_NOT_FOUND")) throw error
          absence = error
        }
        await wait(call, confirmed)
        if (answer === undefined) throw absence
        return answer
      }
    },
  }
}

async function wait({ tenant, signal, deadline, aside }: Call, confirmed: Confirmed): Promise<void> {
  const leftMs = deadline === undefined ? undefined : Math.max(1, Math.floor(deadline - Date.now() - spareMs))
  // Not AbortSignal.timeout(): some versions of Node 22 collect one of which only AbortSignal.any() knows, and it never aborts.
  const late = new AbortController()
  const timer = leftMs === undefined ? undefined : setTimeout(() => late.abort(), leftMs)
  const end = AbortSignal.any([signal, late.signal])
  const waited = confirmed(tenant, end)
  try {
    // Meanwhile the call needs no place among those that are at work.
    await (aside === undefined ? waited : aside(waited))
  } catch (error) {
    if (!end.aborted || signal.aborted) throw error
    throw new Failure("CACHES_NOT_CONFIRMED", { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
