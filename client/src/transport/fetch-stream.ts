import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { compressedFlag, createEnvelopeReadableStream, encodeEnvelope } from "@connectrpc/connect/protocol"
import { endStreamFlag, endStreamFromJson, requestHeader, validateResponse } from "@connectrpc/connect/protocol-connect"
import { endOf, type FetchOptions, fetchSender, rejectionAt } from "./fetch.js"
import { noStreams } from "./layer.js"
import { cancelled, parse, serialize } from "./message.js"
import { onlyMessage } from "./stream-request.js"

/**
 * Creates the streams of a transport over `fetch`: server streams of the Connect protocol
 * (https://connectrpc.com/docs/protocol#streaming-rpcs). It is apart from `fetchTransport`, so that the bundle of an
 * adapter does not contain it. Another streaming method fails with UNIMPLEMENTED.
 */
export function fetchStream(options: FetchOptions): Transport["stream"] {
  const { send, failureOf } = fetchSender(options)

  return async (method, signal, timeoutMs, header, input, contextValues) => {
    if (method.methodKind !== "server_streaming")
      return noStreams(method, signal, timeoutMs, header, input, contextValues)
    const headers = requestHeader(method.methodKind, true, undefined, header, false)
    const body = encodeEnvelope(0, serialize(method.input, create(method.input, await onlyMessage(input))))
    if (signal?.aborted) throw cancelled(signal)
    const ending = endOf(signal, timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : undefined)
    // Handled, because it is rejected at the latest when the stream ends.
    const aborted = rejectionAt(ending.signal)
    aborted.catch(() => {})
    const failed = (error: unknown): never => {
      ending.abort(error)
      ending.settle()
      throw ending.reason ?? failureOf(error)
    }
    const response = await Promise.race([send(method, headers, body, ending.signal), aborted]).catch(failed)
    const trailer = new Headers()

    async function* messages(output: DescMessage): AsyncGenerator<MessageShape<DescMessage>, void> {
      try {
        validateResponse(method.methodKind, true, response.status, response.headers)
        if (response.body === null) throw new ConnectError("the response has no body", Code.Internal)
        const reader = createEnvelopeReadableStream(response.body).getReader()
        for (;;) {
          const { done, value } = await Promise.race([reader.read(), aborted])
          if (done) throw new ConnectError("the stream was cut off", Code.Unavailable)
          if (value.flags & compressedFlag) throw new ConnectError("the response is compressed", Code.Internal)
          if (value.flags & endStreamFlag) {
            const { error, metadata } = endStreamFromJson(value.data)
            if (error) throw error
            for (const [name, text] of metadata) trailer.append(name, text)
            return
          }
          yield parse(output, value.data)
        }
      } catch (error) {
        failed(error)
      } finally {
        ending.abort(new ConnectError("the stream is no longer read", Code.Canceled))
        ending.settle()
      }
    }

    const message = messages(method.output) as AsyncIterable<MessageShape<typeof method.output>>
    return { stream: true, service: method.parent, method, header: response.headers, trailer, message }
  }
}
