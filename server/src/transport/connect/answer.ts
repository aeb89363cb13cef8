import type { UniversalServerResponse } from "@connectrpc/connect/protocol"
import type { universalResponseToNodeResponse } from "@connectrpc/connect-node"
import type { RequestUsage } from "../limits/request-usage.js"

/** Node's response object, for HTTP/1.1 or HTTP/2. */
export type NodeResponse = Parameters<typeof universalResponseToNodeResponse>[1]

/**
 * Writes an answer of Connect. It replaces Connect's own adapter, which does not report when the client has received
 * the written bytes. The next part of a stream is requested only then.
 *
 * @param isUnary Whether the whole answer may be buffered for the client, unless its connection already holds too much.
 */
export async function writeAnswer(
  answer: UniversalServerResponse,
  response: NodeResponse,
  usage: RequestUsage,
  isUnary: boolean,
): Promise<void> {
  const body = answer.body?.[Symbol.asyncIterator]()
  try {
    // Header, trailer and status may change until the first part is available.
    let part = await body?.next()
    if (isUnary && part?.done === false && !usage.answers(part.value.length)) return usage.cut()
    setHeaders(response, answer.header)
    response.writeHead(answer.status)
    for (; body !== undefined && part?.done === false; part = await body.next()) {
      if (isUnary) write(response, part.value)
      else await writeTaken(response, part.value, usage)
    }
    response.addTrailers(Object.fromEntries(answer.trailer ?? []))
    response.end()
  } finally {
    await body?.return?.()
  }
}

function setHeaders(response: NodeResponse, header: Headers | undefined): void {
  for (const [name, value] of header ?? []) response.setHeader(name, value)
}

/** Writes a part of a stream. Resolves when the client has received it, and rejects when the response is closed before. */
function writeTaken(response: NodeResponse, bytes: Uint8Array, usage: RequestUsage): Promise<void> {
  usage.sent()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // Node does not call the callback of every write. It buffers the writes of an HTTP/1.1 response that is queued behind
  // another one, and discards them without a call when the connection is closed.
  const onClose = () => reject(new Error("the response was closed"))
  response.once("close", onClose)
  write(response, bytes, (error) => (error ? reject(error) : resolve()))
  if (response.destroyed) onClose()
  return promise.finally(() => {
    response.off("close", onClose)
    usage.taken()
  })
}

function write(response: NodeResponse, bytes: Uint8Array, done: (error?: Error | null) => void = () => {}): void {
  response.write(bytes, done)
}
