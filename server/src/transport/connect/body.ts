import type { Call } from "../../rpc/call.js"
import { Failure, toStatus } from "../../rpc/errors.js"
import { waitsUntil } from "../../util/abort.js"
import { inOwnMemory } from "../budgets/own-memory.js"
import type { Share } from "../budgets/share.js"

/** The end of a call in the form that Connect tells its client. */
export function statusOf(error: unknown, requestId: string): unknown {
  return error instanceof Failure ? toStatus(error, requestId) : error
}

// Not a function inside of another: see foreign-errors.ts.

/** The body of a request, as it arrives; ends with the error of the call when that is over before. */
export async function* arriving(
  body: AsyncIterator<Uint8Array>,
  share: Share,
  callOf: () => Call,
): AsyncIterable<Uint8Array> {
  const { signal, requestId } = callOf()
  const waits = waitsUntil(signal)
  try {
    for (;;) {
      const next = await waits.for(body.next())
      if (next.done === true) return
      share.received(next.value)
      yield inOwnMemory(next.value)
    }
  } catch (error) {
    throw statusOf(error, requestId)
  } finally {
    waits.end()
    // Its listener would keep the rest of the body from being thrown away.
    body.return?.().catch(() => {})
  }
}
