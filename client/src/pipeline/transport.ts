import { Code, ConnectError, type UnaryResponse } from "@connectrpc/connect"
import { Client } from "@grpc/grpc-js"
import { wrongOption } from "../error.js"
import { type GrpcTransport, grpcTransport } from "../transport/grpc.js"
import { channelOptions, type GrpcTargetOptions, grpcAddress, grpcTarget } from "../transport/grpc-target.js"
import { cancelled, toMetadata } from "../transport/grpc-wire.js"
import { explainTls } from "../transport/tls-error.js"
import { type CallTrace, callTracer } from "../transport/trace.js"
import { withHeader } from "../transport/traced.js"
import { PipelinedCall } from "./call.js"
import { endpointsOf, type Resolve, systemResolve } from "./endpoints.js"
import { createMember } from "./member.js"
import { createPipelinePool } from "./pool.js"

/** How calls are carried in pipelines. */
export interface PipelineOptions {
  /**
   * How many pipelines to open to each address, each on a connection of its own. One carries tens of thousands of calls
   * a second; more spread the calls over several workers of the service, or over several replicas behind one address:
   * as many as there are of these. From 1 to 64. Default: 1.
   */
  connections?: number | undefined
}

export interface PipelineTransportOptions extends GrpcTargetOptions, PipelineOptions {
  /** The header of every call, sent once for each stream. */
  header?: Headers
  resolve?: Resolve
  /** A monotonic clock, in milliseconds. */
  now?: () => number
  /** The time of day, in milliseconds. */
  wallClock?: () => number
  /** A number from 0 to 1. */
  random?: () => number
}

/** A transport that carries calls in pipelines. */
export interface PipelineTransport extends GrpcTransport {
  /** Whether no pipeline is open: there was no call for a while. */
  readonly isIdle: boolean
}

/** The largest answer, in bytes: one message of a stream may hold several. */
const maxReceiveBytes = 64 * 1024 * 1024
/** A call with more header than this goes alone, in characters. */
const maxHeaderLength = 4096

/**
 * A Connect transport that carries unary calls in pipelines (PipelineService), for Node. It connects at the first call,
 * reconnects by itself, leaves a service that is about to stop without losing a call, and does not keep the process
 * alive for longer than a second after the last call.
 *
 * Where pipelines are not carried (by a proxy, or an older service), and for calls that do not fit into one, it makes
 * calls of their own.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
 */
export function pipelineTransport(options: PipelineTransportOptions): PipelineTransport {
  const { connections = 1, header = new Headers(), resolve = systemResolve } = options
  const { now = () => performance.now(), wallClock = Date.now, random = Math.random } = options
  if (!Number.isInteger(connections) || connections < 1 || connections > 64)
    throw wrongOption("connections", "must be a whole number from 1 to 64")
  const target = grpcTarget(options)
  const metadata = toMetadata(header)
  // It names a call, not the stream.
  const requestId = header.get("x-request-id")
  const common = requestId === null ? {} : { "x-request-id": requestId }
  const alone = grpcTransport(options, wallClock)
  const traceCall = callTracer("grpc", grpcAddress(options))
  let closed = false

  const pool = createPipelinePool({
    endpoints: () => endpointsOf(target, resolve),
    connections,
    now,
    wallClock,
    fallback: (call) => call.makeBy(alone),
    member: (endpoint, events) => {
      const settings = {
        ...channelOptions,
        "grpc.max_receive_message_length": maxReceiveBytes,
        ...endpoint.settings,
        // Or all members would share one connection.
        "grpc.use_local_subchannel_pool": 1,
      }
      const connect = () => new Client(endpoint.target, target.credentials, settings)
      const explain = (error: ConnectError) => explainTls(error, target.security)
      return createMember({ connect, explain, metadata, events, now, random })
    },
  })

  return {
    // Not an async function: the promise that it would add is one more turn for every call.
    unary(method, signal, timeoutMs, callHeader, input) {
      if (closed) return Promise.reject(new ConnectError("the client is closed", Code.FailedPrecondition))
      if (signal?.aborted) return Promise.reject(cancelled(signal))
      const trace = traceCall(method)
      const own = callHeader === header ? common : difference(callHeader, header)
      if (own === undefined) {
        const whole = trace === undefined ? callHeader : withHeader(callHeader, trace.header)
        return traced(trace, alone.unary(method, signal, timeoutMs, whole, input))
      }
      try {
        const wholeHeader = callHeader
        const sent = trace === undefined ? own : { ...own, ...trace.header }
        const call = new PipelinedCall({ method, input, header: sent, wholeHeader, timeoutMs, signal })
        pool.send(call)
        return traced(trace, call.response as Promise<UnaryResponse<typeof method.input, typeof method.output>>)
      } catch (error) {
        return traced(trace, Promise.reject(error))
      }
    },
    stream: (...call) => alone.stream(...call),
    get isIdle() {
      return pool.isIdle
    },
    close() {
      closed = true
      pool.close()
      alone.close()
    },
  }
}

function traced<T>(trace: CallTrace | undefined, outcome: Promise<T>): Promise<T> {
  return trace === undefined ? outcome : trace.end(outcome)
}

/** What a call's header has beside the stream's. Undefined if it cannot travel in the stream. */
function difference(header: HeadersInit | undefined, base: Headers): Record<string, string> | undefined {
  const own: Record<string, string> = {}
  if (header === undefined) return own
  let length = 0
  for (const [name, value] of new Headers(header)) {
    if (base.get(name) === value && name !== "x-request-id") continue
    // The stream was let in by its own key; and what gRPC does not carry the other transport rejects.
    if (name === "authorization" || name.endsWith("-bin")) return undefined
    if (!/^[0-9a-z_.-]{1,255}$/.test(name) || !/^[\x20-\x7e]*$/.test(value)) return undefined
    own[name] = value
    length += name.length + value.length
  }
  return length > maxHeaderLength || Object.keys(own).length > 64 ? undefined : own
}
