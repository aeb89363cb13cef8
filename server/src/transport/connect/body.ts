import { Failure } from "../../errors/failure.js"
import { connectErrorOf } from "../../errors/status.js"
import type { Call } from "../../rpc/call.js"
import { waitsUntil } from "../../util/abort.js"
import { inOwnMemory } from "../limits/own-memory.js"
import type { RequestUsage } from "../limits/request-usage.js"

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
    throw error instanceof Failure ? connectErrorOf(error, requestId) : error
  } finally {
    waits.end()
    // The iterator's listener would prevent the rest of the body from being discarded.
    body.return?.().catch(() => {})
  }
}
