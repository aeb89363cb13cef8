import type { UniversalServerResponse } from "@connectrpc/connect/protocol"
import { endStreamFlag } from "@connectrpc/connect/protocol-connect"
import { trailerFlag } from "@connectrpc/connect/protocol-grpc-web"
import type { universalResponseToNodeResponse } from "@connectrpc/connect-node"
import { itemsOf } from "../../util/items.js"
import type { RequestUsage } from "../limits/request-usage.js"
import { withPrefix } from "../listener/prefix.js"

/** Node's response object, for HTTP/1.1 or HTTP/2. */
export type NodeResponse = Parameters<typeof universalResponseToNodeResponse>[1]

/**
 * Writes an answer of Connect. It replaces Connect's own adapter, which does not report when the client has received
 * the written bytes. The next part of a stream is requested only then.
 *
 * @param isUnary Whether the whole answer may be buffered for the client, unless its connection already holds too much.
 * @param beforeFirst Called when the first part is available. It is written when the returned promise resolves.
 */
export async function writeAnswer(
  answer: UniversalServerResponse,
  response: NodeResponse,
  usage: RequestUsage,
  isUnary: boolean,
  beforeFirst: () => Promise<void> | undefined = () => undefined,
): Promise<void> {
  const body = answer.body?.[Symbol.asyncIterator]()
  try {
    // Header, trailer and status may change until the first part is available.
    let part = await body?.next()
    await beforeFirst()
    if (isUnary && part?.done === false && !usage.answers(part.value.length)) return usage.cut()
    setHeaders(response, answer.header)
    // The error of a unary gRPC call has no part: Node would send its trailer only when the client takes data.
    const isAtOnce =
      part?.done !== false ? isUnary || isEarly(response) : isEarly(response) && isLast(part.value, answer.header)
    if (isAtOnce) {
      await body?.next()
      setHeaders(response, answer.trailer)
      if (!isUnary) usage.sent(part?.value?.length ?? 0)
      return endAtOnce(response, answer.status, part?.value)
    }
    response.writeHead(answer.status)
    // A function of its own, because otherwise a part would be kept until there is the next one.
    const writeNext = async (next: Promise<IteratorResult<Uint8Array>> | undefined) => {
      const { done, value } = (await next) ?? { done: true }
      if (done === true) return false
      if (isUnary) write(response, value)
      else await writeTaken(response, value, usage)
      return true
    }
    let hasNext = await writeNext(part && Promise.resolve(part))
    part = undefined
    while (hasNext) hasNext = await writeNext(body?.next())
    response.addTrailers(Object.fromEntries(answer.trailer ?? []))
    response.end()
  } finally {
    await body?.return?.()
  }
}

/**
 * Returns an answer with these messages in place of those that Connect has encoded, one after the other.
 *
 * @param hasPrefix Whether messages have a prefix, as in all but the unary calls of Connect's own protocol.
 */
export function withMessages(
  answer: UniversalServerResponse,
  encoded: Uint8Array[],
  hasPrefix: boolean,
): UniversalServerResponse {
  if (answer.body === undefined) return answer
  if (!hasPrefix && encoded.length > 0) answer.header?.set("content-length", String(encoded[0]?.length))
  const parts = answer.body[Symbol.asyncIterator]()
  const next = async () => {
    const { done, value } = await parts.next()
    if (done === true) return undefined
    // What ends an answer has another flag.
    const message = hasPrefix && value[0] !== 0 ? undefined : encoded.shift()
    if (message === undefined) return value
    return hasPrefix ? withPrefix(0, message) : message
  }
  return { ...answer, body: itemsOf<Uint8Array>(next, async () => parts.return?.()) }
}

/** Returns whether a request of HTTP/2 is shorter so far than it has announced. */
function isEarly(response: NodeResponse): boolean {
  return "stream" in response && response.req.headers["content-length"] !== undefined && !response.stream?.readableEnded
}

/** Returns whether a part of an answer ends it: as the answer of unary Connect, or by its flag. */
function isLast([flags = 0]: Uint8Array, header: Headers | undefined): boolean {
  const type = header?.get("content-type") ?? ""
  if (type.startsWith("application/grpc-web")) return (flags & trailerFlag) !== 0
  if (type.startsWith("application/connect+")) return (flags & endStreamFlag) !== 0
  return !type.startsWith("application/grpc")
}

/**
 * Sends the whole answer to a request that may not be complete. Over HTTP/2 the answer and its end are sent together:
 * some clients stop sending as soon as an answer begins, and the end of a request that is shorter than announced resets
 * its stream. Node's own response sends the end later, because it could be followed by trailers.
 */
export function endAtOnce(response: NodeResponse, status: number, bytes: Uint8Array | string = ""): void {
  if (!("stream" in response)) {
    response.writeHead(status)
    response.end(bytes)
    return
  }
  const { stream } = response
  // The client has reset it.
  if (stream === undefined || stream.closed || stream.destroyed) return
  stream.removeAllListeners("wantTrailers")
  stream.respond({ ...response.getHeaders(), ":status": status }, { endStream: bytes.length === 0 })
  if (bytes.length > 0) stream.end(bytes)
}

function setHeaders(response: NodeResponse, header: Headers | undefined): void {
  for (const [name, value] of header ?? []) response.setHeader(name, value)
}

/** Writes a part of a stream. Resolves when the client has received it, and rejects when the response is closed before. */
function writeTaken(response: NodeResponse, bytes: Uint8Array, usage: RequestUsage): Promise<void> {
  usage.sent(bytes.length)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // Node does not call the callback of every write. It buffers the writes of an HTTP/1.1 response that is queued behind
  // another one, and discards them without a call when the connection is closed.
  const onClose = () => reject(new Error("the response was closed"))
  response.once("close", onClose)
  write(response, bytes, (error) => (error ? reject(error) : resolve()))
  if (response.destroyed) onClose()
  return promise.finally(() => {
    response.off("close", onClose)
    usage.taken(bytes.length)
  })
}

function write(response: NodeResponse, bytes: Uint8Array, done: (error?: Error | null) => void = () => {}): void {
  response.write(bytes, done)
}
