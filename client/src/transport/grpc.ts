import { create, type DescMessage, type DescMethodUnary, fromBinary, type MessageShape } from "@bufbuild/protobuf"
import type { UnaryResponse } from "@connectrpc/connect"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { type CallOptions, Client, connectivityState, type Metadata } from "@grpc/grpc-js"
import { channelOptions, type GrpcTargetOptions, grpcTarget } from "./grpc-target.js"
import { cancelled, identity, serialize, toConnectError, toHeaders, toMetadata } from "./grpc-wire.js"
import { watchSuspension } from "./suspension.js"
import { explainTls, type Security } from "./tls-error.js"

/** In milliseconds: what a timer of Node holds, in whole seconds. One beyond it would end the call at once. */
const maxTimeoutMs = 2_147_483_000

/** A transport that holds a connection. */
export interface GrpcTransport extends Transport {
  /** Closes the connection. Calls in progress may still end; later calls fail with FAILED_PRECONDITION. */
  close(): void
}

/**
 * A Connect transport over @grpc/grpc-js: gRPC on HTTP/2, for Node. It connects at the first call, reconnects by itself,
 * and does not keep the process alive while no call is in progress. Make one and keep it: it is yours, and is not shared
 * as the connection of AuthwireAdapter is.
 *
 * Unary methods only: a streaming method fails with UNIMPLEMENTED.
 *
 * @param wallClock - The time of day, in milliseconds: it tells that the process was suspended. Default: `Date.now`.
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
 */
export function grpcTransport(options: GrpcTargetOptions, wallClock: () => number = Date.now): GrpcTransport {
  const { target, credentials, settings, security } = grpcTarget(options)
  let client: Client | undefined
  let closed = false
  const suspension = watchSuspension(() => {
    // One that is still being made, for which calls wait, is not one that was lost meanwhile.
    if (client?.getChannel().getConnectivityState(false) === connectivityState.READY) disconnect()
  }, wallClock)

  function connection(): Client {
    if (closed) throw new ConnectError("the client is closed", Code.FailedPrecondition)
    suspension.look()
    client ??= new Client(target, credentials, {
      ...channelOptions,
      ...settings,
      // Or a new client would have the connection of the old one, while that still has calls.
      "grpc.use_local_subchannel_pool": 1,
    })
    return client
  }

  function disconnect(): void {
    client?.close()
    client = undefined
  }

  return {
    async unary(method, signal, timeoutMs, header, input) {
      if (signal?.aborted) throw cancelled(signal)
      const metadata = toMetadata(header)
      const bytes = serialize(method, create(method.input, input))
      const callOptions =
        timeoutMs !== undefined && timeoutMs > 0 ? { deadline: Date.now() + Math.min(timeoutMs, maxTimeoutMs) } : {}
      return request(connection(), security, method, bytes, metadata, callOptions, signal)
    },
    async stream(method) {
      throw new ConnectError(`${method.name} is a streaming method: this transport has none`, Code.Unimplemented)
    },
    close() {
      closed = true
      suspension.stop()
      disconnect()
    },
  }
}

function request<I extends DescMessage, O extends DescMessage>(
  client: Client,
  security: Security,
  method: DescMethodUnary<I, O>,
  bytes: Buffer,
  metadata: Metadata,
  callOptions: CallOptions,
  signal: AbortSignal | undefined,
): Promise<UnaryResponse<I, O>> {
  return new Promise((resolve, reject) => {
    const received: Received = {}
    const cancel = () => call.cancel()
    const call = client.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      identity,
      (answer) => fromBinary(method.output, answer),
      bytes,
      metadata,
      callOptions,
      (error, message) => {
        signal?.removeEventListener("abort", cancel)
        if (error) reject(signal?.aborted ? cancelled(signal) : explainTls(toConnectError(error), security))
        else if (message === undefined) reject(new ConnectError("the answer has no message", Code.Internal))
        else resolve(toResponse(method, message, received))
      },
    )
    call.on("metadata", (metadata) => {
      received.header = metadata
    })
    // Comes right after the callback: before whoever awaits the answer runs.
    call.on("status", (status) => {
      received.trailer = status.metadata
    })
    signal?.addEventListener("abort", cancel)
  })
}

interface Received {
  header?: Metadata
  trailer?: Metadata
}

/** Headers are made only when somebody reads them: hardly anyone does. */
function toResponse<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  message: MessageShape<O>,
  received: Received,
): UnaryResponse<I, O> {
  return {
    stream: false,
    service: method.parent,
    method,
    message,
    get header() {
      return toHeaders(received.header)
    },
    get trailer() {
      return toHeaders(received.trailer)
    },
  }
}
