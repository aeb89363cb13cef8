import type { Call } from "../dispatch/call.js"
import { Failure, toStatus } from "../errors.js"
import { waitsUntil } from "../or-aborted.js"
import type { Share } from "./share.js"

/** The end of a call in the form that Connect tells its client. */
export function statusOf(error: unknown, requestId: string): unknown {
  return error instanceof Failure ? toStatus(error, requestId) : error
}

// Not functions inside of others: see foreign-errors.ts.

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
      yield next.value
    }
  } catch (error) {
    throw statusOf(error, requestId)
  } finally {
    waits.end()
    // Its listener would keep the rest of the body from being thrown away.
    body.return?.().catch(() => {})
  }
}

/** The body of the answer to a unary call; the request is cut if too many bytes of answers wait on the connection. */
export async function* answering(body: AsyncIterable<Uint8Array>, share: Share): AsyncIterable<Uint8Array> {
  for await (const chunk of body) {
    if (!share.answers(chunk.length)) return share.cut()
    yield chunk
  }
}

/** The body of the answer to a stream, each part of which must be taken in time. */
export async function* streaming(body: AsyncIterable<Uint8Array>, share: Share): AsyncIterable<Uint8Array> {
  for await (const chunk of body) {
    share.sent()
    yield chunk
    share.taken()
  }
}
