import { createHash } from "node:crypto"
import { Code, ConnectError } from "@connectrpc/connect"
import type { GrpcTransport } from "../transport/grpc.js"
import { type PipelineTransport, type PipelineTransportOptions, pipelineTransport } from "./transport.js"

/** The options that decide which connection is used. */
export type SharedTransportOptions = Required<Pick<PipelineTransportOptions, "header">> &
  Pick<PipelineTransportOptions, "url" | "tls" | "connections">

/** A transport that is shared by all clients with equal options. */
interface Channel {
  readonly transport: PipelineTransport
  /** The headers of its streams. A call that passes this same object has no further headers. */
  readonly header: Headers
  /** The number of open clients that use it. */
  clients: number
  /** Whether a call was made since the last check for idleness. */
  isUsed: boolean
  isOpen: boolean
  close(): void
}

/**
 * The key of the registry of channels, on `globalThis`. A bundler may put several copies of this module into a process, and a development
 * server loads it again at every change, so that the registry must be outside of the module. The number is the version of the interface
 * Channel: a version of this package that changes it also changes the number, and so does not use the channels of other versions.
 */
const registryKey: unique symbol = Symbol.for("authwire.channels.1")

/** The interval of the checks for idleness, in milliseconds. A channel closes at the second check in a row without a call. */
const checkMs = 30_000

/**
 * Creates a transport over the channel that all clients of this process with equal options share. The channel closes with the last
 * client that uses it. It also closes when it is idle, because an adapter is never closed; the next call then opens another channel.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
 */
export function sharedTransport(options: SharedTransportOptions, idleCheckMs = checkMs): GrpcTransport {
  const { header } = options
  const key = keyOf(options)
  let channel = join()
  let closed = false

  function join(): Channel {
    const found = channels().get(key) ?? openChannel(key, options, idleCheckMs)
    found.clients++
    return found
  }

  function used(): Channel {
    if (closed) throw new ConnectError("the client is closed", Code.FailedPrecondition)
    if (!channel.isOpen) channel = join()
    channel.isUsed = true
    return channel
  }

  return {
    // Not an async function, which would add a promise to every call.
    unary(method, signal, timeoutMs, callHeader, input, contextValues) {
      try {
        const { transport, header: shared } = used()
        const sent = callHeader === header ? shared : callHeader
        return transport.unary(method, signal, timeoutMs, sent, input, contextValues)
      } catch (error) {
        return Promise.reject(error)
      }
    },
    stream: async (...call) => used().transport.stream(...call),
    close() {
      if (closed) return
      closed = true
      if (channel.isOpen && --channel.clients === 0) channel.close()
    },
  }
}

function channels(): Map<string, Channel> {
  const scope: typeof globalThis & { [registryKey]?: Map<string, Channel> } = globalThis
  scope[registryKey] ??= new Map()
  return scope[registryKey]
}

function openChannel(key: string, options: SharedTransportOptions, idleCheckMs: number): Channel {
  const transport = pipelineTransport(options)
  const check = setInterval(() => {
    if (!channel.isUsed && transport.isIdle) channel.close()
    channel.isUsed = false
  }, idleCheckMs).unref()
  const channel: Channel = {
    transport,
    header: options.header,
    clients: 0,
    isUsed: true,
    isOpen: true,
    close() {
      channel.isOpen = false
      channels().delete(key)
      clearInterval(check)
      transport.close()
    },
  }
  channels().set(key, channel)
  return channel
}

/** Returns a digest of the options, because they contain secrets that the registry must not reveal. */
function keyOf({ url, tls, connections, header }: SharedTransportOptions): string {
  const security = [tls === undefined, tls?.ca, tls?.cert, tls?.key, tls?.serverName]
  const parts = [url, connections, ...security, ...[...header].flat()]
  // The types are included. Otherwise a wrong option could match an open channel without that option.
  const text = JSON.stringify(parts.map((part) => [typeof part, String(part)]))
  return createHash("sha256").update(text).digest("base64url")
}
