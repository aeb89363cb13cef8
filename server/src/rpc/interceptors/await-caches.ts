import type { Message } from "@bufbuild/protobuf"
import { Failure } from "../../errors/failure.js"
import type { Confirmed } from "../../session-cache/awaiting.js"
import type { Call } from "../call.js"
import type { Interceptor } from "../interceptor.js"

/**
 * How long before its deadline a call fails with CACHES_NOT_CONFIRMED, in milliseconds. The error has to reach the
 * client before the client's own deadline, even over a slow network and if the client is busy.
 */
const spareMs = 250

/**
 * Delays the responses of calls with `await_caches` until no client of their tenant can use the deleted sessions any
 * more. It must be outside everything that commits, including the interceptor for idempotency keys.
 */
export function awaitCaches(confirmed: Confirmed): Interceptor {
  return {
    unary(method, next) {
      if (!method.input.fields.some(({ name }) => name === "await_caches")) return next
      return async (request, call, transaction) => {
        if ((request as Message & { awaitCaches?: boolean }).awaitCaches !== true)
          return next(request, call, transaction)
        let answer: Message | undefined
        let absence: Failure | undefined
        try {
          answer = await next(request, call, transaction)
        } catch (error) {
          // An earlier call may have deleted the session, and clients may still use their copies.
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

async function wait(call: Call, confirmed: Confirmed): Promise<void> {
  const { owner, signal, deadline } = call
  const leftMs = deadline === undefined ? undefined : Math.max(1, Math.floor(deadline - performance.now() - spareMs))
  // Not AbortSignal.timeout(): some versions of Node 22 collect it if only AbortSignal.any() refers to it. It then
  // never aborts.
  const late = new AbortController()
  const timer = leftMs === undefined ? undefined : setTimeout(() => late.abort(), leftMs)
  const end = AbortSignal.any([signal, late.signal])
  // The work is done. Clients that are disconnected must not keep other calls waiting.
  call.leaveLimit()
  try {
    await confirmed(owner.tenant, end)
  } catch (error) {
    if (!end.aborted || signal.aborted) throw error
    throw new Failure("CACHES_NOT_CONFIRMED", { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
