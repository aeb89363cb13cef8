import type { Metadata, ServerDuplexStream, ServerUnaryCall, ServerWritableStream, sendUnaryData } from "@grpc/grpc-js"
import { grpcTimeout } from "../timeout.js"
import type { GrpcStream } from "./streams.js"

export type UnaryCall = ServerUnaryCall<Buffer, Uint8Array>
export type StreamCall = ServerWritableStream<Buffer, Uint8Array> | ServerDuplexStream<Buffer, Uint8Array>

/** A call as grpc-js hands it to a handler; `answer` is there for a unary one. */
export interface HandedCall {
  readonly call: UnaryCall | StreamCall
  readonly answer: sendUnaryData<Uint8Array> | undefined
}

/** Leads a stream whose header we have read through grpc-js, which reads its request, back to the call it belongs to. */
export interface Handover {
  /** Has grpc-js serve the stream. Resolves when its handler is called: for a unary call, when the request is whole. */
  give(stream: GrpcStream): Promise<HandedCall>
  /** To be called by every handler. */
  take(call: UnaryCall | StreamCall, answer?: sendUnaryData<Uint8Array>): void
}

/** The header by which a handler finds the call. What a client sends under this name is overwritten. */
const callHeader = "authwire-call"

export function handover(): Handover {
  // A Map may hold on to what has left it (see rpc/active-calls.ts): so it has no call itself.
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
        // The deadline is kept by the router. One that cannot be read is left to grpc-js, which says so.
        if (grpcTimeout(headers) !== undefined) delete headers["grpc-timeout"]
        serve()
        // Node tells of the end of a request without a byte as soon as it comes, also while the call waits to be let in. grpc-js,
        // which did not listen then, would wait for it for as long as the connection is open.
        if (stream.readableEnded) stream.emit("end")
      }),
    take: (call, answer) => given.get(idOf(call.metadata))?.resolve?.({ call, answer }),
  }
}

function idOf(metadata: Metadata): string {
  return String(metadata.get(callHeader)[0])
}
