import { create, type DescMessage, type DescMethodUnary, fromBinary } from "@bufbuild/protobuf"
import type { UnaryResponse } from "@connectrpc/connect"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { type CallOptions, connectivityState, type Metadata } from "@grpc/grpc-js"
import { explainTls, type Security } from "../errors/tls-error.js"
import { answerMs, CheckedClient, unanswered } from "./checked-client.js"
import { openGrpcStream } from "./grpc-stream.js"
import { channelOptions, type GrpcTargetOptions, grpcTarget } from "./grpc-target.js"
import { identity, toBuffer, toConnectError, toMetadata, unaryResponse } from "./grpc-wire.js"
import { noStreams } from "./layer.js"
import { cancelled, serialize } from "./message.js"
import { onlyMessage } from "./stream-request.js"
import { watchSuspension } from "./suspension.js"

/** The longest timeout of a call, in milliseconds: that of a Node timer, in whole seconds. */
const maxTimeoutMs = 2_147_483_000

/** A transport that holds a connection. */
export interface GrpcTransport extends Transport {
  /** Closes the connection. Calls in progress may still end; later calls fail with FAILED_PRECONDITION. */
  close(): void
}

/**
 * Creates a Connect transport over @grpc/grpc-js (gRPC on HTTP/2), for Node. It connects at the first call, reconnects
 * by itself, and does not keep the process alive while no call is in progress. Create it once and reuse it, because its
 * connection is not shared as that of AuthwireAdapter is.
 *
 * Supports unary methods and server streams: another streaming method fails with UNIMPLEMENTED.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 */
export function grpcTransport(options: GrpcTargetOptions): GrpcTransport {
  return grpcTransportOf(options)
}

/** The same with a pause between two checks of the connection, in milliseconds, and with another time of day. */
export function grpcTransportOf(
  options: GrpcTargetOptions & { checkMs?: number | undefined; wallClock?: () => number },
): GrpcTransport & { readonly hasStreams: boolean } {
  const { checkMs, wallClock } = options
  const { target, credentials, settings, security } = grpcTarget(options)
  let connection: Connection | undefined
  let closed = false
  let streams = 0
  const suspension = watchSuspension(() => {
    // Only an established connection can have been lost during the suspension. Calls may wait for one that is being
    // established.
    if (connection?.client.getChannel().getConnectivityState(false) !== connectivityState.READY) return
    const { client } = connection
    disconnect()
    // If it is dead, the active calls must not wait for their deadlines.
    client.check()
  }, wallClock)

  function connected(): Connection {
    if (closed) throw new ConnectError("the client is closed", Code.FailedPrecondition)
    suspension.look()
    connection ??= connect()
    return connection
  }

  function connect(): Connection {
    const calls = new Set<ActiveCall>()
    const dead = () => {
      if (connection?.client === client) disconnect()
      // The client may have connections to other addresses, whose calls have as much time as the check had.
      setTimeout(() => {
        for (const call of calls) call.lose()
      }, answerMs).unref()
    }
    // Otherwise a new client would reuse the connection of the old one while that still has calls.
    const own = { ...channelOptions, ...settings, "grpc.use_local_subchannel_pool": 1 }
    const client = new CheckedClient(target, credentials, own, { dead, checkMs })
    const over = (call: ActiveCall) => {
      if (calls.delete(call) && connection?.client !== client && calls.size === 0) client.close()
    }
    return { client, calls, over }
  }

  /** Leaves the connection. It is closed, and no longer checked, when its calls have ended. */
  function disconnect(): void {
    const left = connection
    connection = undefined
    if (left?.calls.size === 0) left.client.close()
  }

  return {
    async unary(method, signal, timeoutMs, header, input) {
      if (signal?.aborted) throw cancelled(signal)
      const metadata = toMetadata(header)
      // Serialized before the call, because grpc-js would report a message that violates the schema as INTERNAL.
      const bytes = toBuffer(serialize(method.input, create(method.input, input)))
      return request(connected(), security, method, bytes, metadata, endingAfter(timeoutMs), signal)
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      if (method.methodKind !== "server_streaming")
        return noStreams(method, signal, timeoutMs, header, input, contextValues)
      const metadata = toMetadata(header)
      const bytes = toBuffer(serialize(method.input, create(method.input, await onlyMessage(input))))
      if (signal?.aborted) throw cancelled(signal)
      const { client, calls, over: callOver } = connected()
      const active: ActiveCall = { lose: () => stream.lose(unanswered()) }
      const over = () => {
        if (calls.has(active)) streams--
        callOver(active)
      }
      const callOptions = endingAfter(timeoutMs)
      const stream = openGrpcStream(method, { client, security, bytes, metadata, callOptions, signal, over })
      calls.add(active)
      streams++
      return stream.response
    },
    get hasStreams() {
      return streams > 0
    },
    close() {
      closed = true
      suspension.stop()
      disconnect()
    },
  }
}

/** Returns the option for a call that ends after a time in milliseconds. As everywhere in Connect, zero or less means none. */
function endingAfter(timeoutMs: number | undefined): CallOptions {
  return timeoutMs !== undefined && timeoutMs > 0 ? { deadline: Date.now() + Math.min(timeoutMs, maxTimeoutMs) } : {}
}

/** A client and its calls. */
interface Connection {
  readonly client: CheckedClient
  readonly calls: Set<ActiveCall>
  /** Removes a call that has ended. */
  over(call: ActiveCall): void
}

interface ActiveCall {
  /** Ends the call because its connection is lost. */
  lose(): void
}

function request<I extends DescMessage, O extends DescMessage>(
  { client, calls, over }: Connection,
  security: Security,
  method: DescMethodUnary<I, O>,
  bytes: Buffer,
  metadata: Metadata,
  callOptions: CallOptions,
  signal: AbortSignal | undefined,
): Promise<UnaryResponse<I, O>> {
  return new Promise((resolve, reject) => {
    const received: { header?: Metadata; trailer?: Metadata } = {}
    const cancel = () => call.cancel()
    let isLost = false
    const active: ActiveCall = {
      lose() {
        isLost = true
        cancel()
      },
    }
    const call = client.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      identity,
      (answer) => fromBinary(method.output, answer),
      bytes,
      metadata,
      callOptions,
      (error, message) => {
        signal?.removeEventListener("abort", cancel)
        over(active)
        if (isLost) reject(unanswered())
        else if (error)
          reject(signal?.aborted ? cancelled(signal) : explainTls(toConnectError(error, received.header), security))
        else if (message === undefined) reject(new ConnectError("the response has no message", Code.Internal))
        else resolve(unaryResponse(method, message, received))
      },
    )
    calls.add(active)
    call.on("metadata", (metadata) => {
      received.header = metadata
    })
    // Emitted right after the callback, before the code that awaits the response continues.
    call.on("status", (status) => {
      received.trailer = status.metadata
    })
    signal?.addEventListener("abort", cancel)
  })
}
