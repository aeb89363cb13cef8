import type { Metadata, ServerDuplexStream, ServerUnaryCall, ServerWritableStream, sendUnaryData } from "@grpc/grpc-js"
import { grpcTimeout } from "../timeout.js"
import type { GrpcStream } from "./streams.js"

export type UnaryCall = ServerUnaryCall<Buffer, Uint8Array>
export type StreamCall = ServerWritableStream<Buffer, Uint8Array> | ServerDuplexStream<Buffer, Uint8Array>

/** A call as grpc-js passes it to a handler. `answer` is set for a unary call. */
export interface HandedCall {
  readonly call: UnaryCall | StreamCall
  readonly answer: sendUnaryData<Uint8Array> | undefined
}

/**
 * Passes a stream whose header was already read to grpc-js, which reads the request, and finds the matching call again
 * in the handler that grpc-js calls.
 */
export interface Handover {
  /**
   * Passes the stream to grpc-js. Resolves when its handler is called. For a unary call this is when the request is
   * complete.
   */
  give(stream: GrpcStream): Promise<HandedCall>
  /** Receives the call from grpc-js. Every handler must call it. */
  take(call: UnaryCall | StreamCall, answer?: sendUnaryData<Uint8Array>): void
}

/** The header that carries the id by which a handler finds the call. A value sent by the client is overwritten. */
const callHeader = "authwire-call"

export function handover(): Handover {
  // A Map can keep deleted entries in memory (see rpc/active-calls.ts). Therefore an entry does not hold the call
  // itself, and its `resolve` is cleared when the stream closes.
  const given = new Map<string, { resolve: ((handed: HandedCall) => void) | undefined }>()
  let last = 0
  return {
    give: ({ stream, headers, serve }) =>
      new Promise((resolve) => {
        if (stream.closed || stream.destroyed) return
        const id = String(++last)
        const entry: { resolve: typeof resolve | undefined } = { resolve }
        given.set(id, entry)
        stream.once("close", () => {
          given.delete(id)
          entry.resolve = undefined
        })
        headers[callHeader] = id
        // The router enforces the deadline. A timeout that cannot be parsed is left to grpc-js, which reports the
        // error.
        if (grpcTimeout(headers) !== undefined) delete headers["grpc-timeout"]
        serve()
        // Node emits "end" for a request without a byte as soon as the end arrives, even while the call waits to be
        // admitted. grpc-js was not listening then and would wait for it for as long as the connection is open.
        if (stream.readableEnded) stream.emit("end")
      }),
    take: (call, answer) => given.get(idOf(call.metadata))?.resolve?.({ call, answer }),
  }
}

function idOf(metadata: Metadata): string {
  return String(metadata.get(callHeader)[0])
}
