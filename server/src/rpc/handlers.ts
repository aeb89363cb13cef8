import { create, type DescMethod, type Message } from "@bufbuild/protobuf"
import { invalidField } from "../errors/failure.js"
import { orAborted, waitsUntil } from "../util/abort.js"
import { type Call, type CallerOfCall, callerOf } from "./call.js"
import type { Check, Stream, Unary } from "./interceptor.js"

/** Makes a unary method of a handler: checks the request, and completes the response. */
export function unaryHandler(
  method: DescMethod,
  handler: (request: Message, caller: CallerOfCall, call: Call) => Promise<Message>,
  checks: readonly Check[],
): Unary {
  return async (request, call, transaction) => {
    for (const check of checks) check(request)
    call.signal.throwIfAborted()
    return create(method.output, await handler(request, callerOf(call, transaction), call))
  }
}

/** Makes a streaming method of a handler: checks each request. */
export function streamHandler(
  { methodKind }: DescMethod,
  handler: (request: never, caller: CallerOfCall, call: Call) => AsyncIterable<Message>,
  checks: readonly Check[],
): Stream {
  if (methodKind !== "server_streaming")
    return (requests, call) => handler(untilAborted(requests, call.signal, checks) as never, callerOf(call), call)
  return async function* (requests, call) {
    // The client may have sent its request and not ended it.
    yield* handler((await orAborted(first(requests, checks), call.signal)) as never, callerOf(call), call)
  }
}

/** Ends a request stream when the call is aborted, because a handler that waits for the next request must not outlive its call. */
async function* untilAborted(
  requests: AsyncIterable<Message>,
  signal: AbortSignal,
  checks: readonly Check[],
): AsyncIterable<Message> {
  const reader = requests[Symbol.asyncIterator]()
  const waits = waitsUntil(signal)
  try {
    for (;;) {
      const next = await waits.for(reader.next())
      if (next.done === true) return
      for (const check of checks) check(next.value)
      yield next.value
    }
  } finally {
    waits.end()
  }
}

async function first(requests: AsyncIterable<Message>, checks: readonly Check[]): Promise<Message> {
  for await (const request of requests) {
    for (const check of checks) check(request)
    return request
  }
  throw invalidField("request", "is missing")
}
