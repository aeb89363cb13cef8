import { Code, ConnectError, type UnaryResponse } from "@connectrpc/connect"
import { wrongOption } from "../errors/error.js"
import { explainTls } from "../errors/tls-error.js"
import { CheckedClient } from "../transport/checked-client.js"
import { fallbackLog } from "../transport/fallback-log.js"
import { type GrpcTransport, grpcTransportOf } from "../transport/grpc.js"
import {
  channelOptions,
  type GrpcTarget,
  type GrpcTargetOptions,
  grpcServer,
  grpcTarget,
} from "../transport/grpc-target.js"
import { toMetadata } from "../transport/grpc-wire.js"
import { withHeaders } from "../transport/layer.js"
import { cancelled } from "../transport/message.js"
import { PipelinedCall } from "./call.js"
import { endpointsOf, type Resolve, systemResolve } from "./endpoints.js"
import { createMember } from "./member.js"
import { createPipelinePool } from "./pool.js"

/** How calls are carried in pipelines. */
export interface PipelineOptions {
  /**
   * How many pipelines to open to each address, each on a connection of its own. One carries tens of thousands of calls
   * a second; more spread the calls over several processes or replicas of the service behind one address:
   * as many as there are of these. From 1 to 64. Default: 1.
   */
  connections?: number | undefined
}

export interface PipelineTransportOptions extends GrpcTargetOptions, PipelineOptions {
  /** The headers of every call, sent once for each stream. A call carries only those of its own. */
  header?: Headers
  resolve?: Resolve
  /** The pause between two checks of a connection, in milliseconds. */
  checkMs?: number | undefined
  /** A monotonic clock, in milliseconds. */
  now?: () => number
  /** The time of day, in milliseconds. */
  wallClock?: () => number
}

/** A transport that carries calls in pipelines. */
export interface PipelineTransport extends GrpcTransport {
  /** Whether no stream is open, and no pipeline because there was no call for a while. */
  readonly isIdle: boolean
}

/** The size of the largest message of a stream, in bytes. It may hold several answers. */
const maxReceiveBytes = 64 * 1024 * 1024
/** A call with more headers than this is made outside of the pipeline, because the service would end the whole stream. */
const maxHeaders = 64
/** A call with longer headers than this is made outside of the pipeline, in characters. */
const maxHeaderLength = 4096

/**
 * A Connect transport for Node that carries unary calls in pipelines (PipelineService). It connects at the first call and
 * reconnects by itself. When a service shuts down, it moves to another stream without losing a call. It keeps the process alive for at
 * most a second after the last call.
 *
 * Where a proxy or an older service does not carry pipelines, and for calls that do not fit into one, it makes ordinary unary calls.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
 */
export function pipelineTransport(options: PipelineTransportOptions): PipelineTransport {
  const { connections = 1, header = new Headers(), resolve = systemResolve, checkMs } = options
  const { now = () => performance.now(), wallClock = Date.now } = options
  const target = pipelineTarget(options)
  const metadata = toMetadata(header)
  // The header names a call, so that it is not sent as one of the stream.
  const requestId = header.get("x-request-id")
  const common = requestId === null ? {} : { "x-request-id": requestId }
  // For streams, too.
  const unary = grpcTransportOf(options)
  const alone = withHeaders(header, unary)
  let closed = false

  const { address } = grpcServer(options)
  const pool = createPipelinePool({
    log: {
      separateCalls: fallbackLog(address, "rejects pipelines, so every call is sent separately"),
      knownEndpoints: fallbackLog(address, "cannot be looked up, so the addresses found before are used"),
    },
    endpoints: () => endpointsOf(target, resolve),
    connections,
    now,
    wallClock,
    fallback: (call) => call.makeBy(alone.unary),
    member: (endpoint, events) => {
      const settings = {
        ...channelOptions,
        "grpc.max_receive_message_length": maxReceiveBytes,
        ...endpoint.settings,
        // Otherwise all members would share one connection.
        "grpc.use_local_subchannel_pool": 1,
      }
      const connect = (dead: () => void) =>
        new CheckedClient(endpoint.target, target.credentials, settings, { dead, checkMs })
      const explain = (error: ConnectError) => explainTls(error, target.security)
      return createMember({ connect, explain, metadata, events, now, random: Math.random })
    },
  })

  return {
    // Not an async function, which would add a promise to every call.
    unary(method, signal, timeoutMs, callHeader, input) {
      if (closed) return Promise.reject(new ConnectError("the client is closed", Code.FailedPrecondition))
      if (signal?.aborted) return Promise.reject(cancelled(signal))
      const sent = callHeader === undefined ? common : { ...common, ...Object.fromEntries(new Headers(callHeader)) }
      if (!isCarried(sent)) return alone.unary(method, signal, timeoutMs, callHeader, input)
      try {
        const call = new PipelinedCall({ method, input, header: sent, timeoutMs, signal })
        pool.send(call)
        return call.response as Promise<UnaryResponse<typeof method.input, typeof method.output>>
      } catch (error) {
        return Promise.reject(error)
      }
    },
    stream: alone.stream,
    get isIdle() {
      return pool.isIdle && !unary.hasStreams
    },
    close() {
      closed = true
      pool.close()
      unary.close()
    },
  }
}

/** Checks the options of a pipeline, and converts them to the settings of its channels. Throws AuthwireError if an option is invalid. */
export function pipelineTarget(options: GrpcTargetOptions & PipelineOptions): GrpcTarget {
  const { connections = 1 } = options
  if (!Number.isInteger(connections) || connections < 1 || connections > 64)
    throw wrongOption("connections", "must be a whole number from 1 to 64")
  return grpcTarget(options)
}

/** Returns whether a stream can carry these headers of a call, which are all that the stream does not have. */
function isCarried(sent: Record<string, string>): boolean {
  let count = 0
  let length = 0
  for (const name in sent) {
    const value = sent[name] ?? ""
    // The stream was authenticated by its own key. Headers that gRPC does not carry are rejected by the other transport.
    if (name === "authorization" || name.endsWith("-bin")) return false
    if (!/^[0-9a-z_.-]{1,255}$/.test(name) || !/^[\x20-\x7e]*$/.test(value)) return false
    count++
    length += name.length + value.length
  }
  return count <= maxHeaders && length <= maxHeaderLength
}
