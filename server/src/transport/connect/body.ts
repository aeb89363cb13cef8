import { Failure, toStatus } from "../../errors/failure.js"
import type { Call } from "../../rpc/call.js"
import { waitsUntil } from "../../util/abort.js"
import { inOwnMemory } from "../limits/own-memory.js"
import type { RequestUsage } from "../limits/request-usage.js"

/** Returns the error of a call in the form in which Connect sends it to the client. */
export function statusOf(error: unknown, requestId: string): unknown {
  return error instanceof Failure ? toStatus(error, requestId) : error
}

// Not a nested function: see foreign-errors.ts.

/** Yields the body of a request as it arrives. Throws the call's error if the call ends first. */
export async function* arriving(
  body: AsyncIterator<Uint8Array>,
  usage: RequestUsage,
  callOf: () => Call,
): AsyncIterable<Uint8Array> {
  const { signal, requestId } = callOf()
  const waits = waitsUntil(signal)
  try {
    for (;;) {
      const next = await waits.for(body.next())
      if (next.done === true) return
      usage.received(next.value)
      yield inOwnMemory(next.value)
    }
  } catch (error) {
    throw statusOf(error, requestId)
  } finally {
    waits.end()
    // The iterator's listener would prevent the rest of the body from being discarded.
    body.return?.().catch(() => {})
  }
}
