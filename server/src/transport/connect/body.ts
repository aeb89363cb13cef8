import { Failure } from "../../errors/failure.js"
import { connectErrorOf } from "../../errors/status.js"
import type { Call } from "../../rpc/call.js"
import { waitsUntil } from "../../util/abort.js"
import type { RequestBody } from "../limits/request-body.js"
import type { UnparsedJson } from "./unparsed-json.js"

// Not a nested function: see foreign-errors.ts.

/** Yields the body of a request as it arrives. Throws the call's error if the call ends first. */
export async function* arriving(
  body: RequestBody,
  callOf: () => Call,
  unparsed: UnparsedJson | undefined,
): AsyncIterable<Uint8Array> {
  const { signal, requestId } = callOf()
  const waits = waitsUntil(signal)
  try {
    for (;;) {
      const chunk = await waits.for(body.next())
      if (chunk === undefined) return
      unparsed?.received(chunk)
      yield chunk
    }
  } catch (error) {
    throw error instanceof Failure ? connectErrorOf(error, requestId) : error
  } finally {
    waits.end()
  }
}
