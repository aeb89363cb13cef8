import { createHash } from "node:crypto"
import { Code, ConnectError } from "@connectrpc/connect"
import { type PipelineTransport, type PipelineTransportOptions, pipelineTransport } from "../pipeline/transport.js"
import type { GrpcTransport } from "./grpc.js"

/** What decides which connection is used. */
export type SharedTransportOptions = Required<Pick<PipelineTransportOptions, "header">> &
  Pick<PipelineTransportOptions, "url" | "tls" | "connections">

/** A transport that all clients with equal options use. */
interface Channel {
  readonly transport: PipelineTransport
  /** The header that its streams have: a call with this same object has nothing to add. */
  readonly header: Headers
  /** How many clients use it and are not closed. */
  clients: number
  /** Whether a call was made since the last time that idleness was checked. */
  isUsed: boolean
  isOpen: boolean
  close(): void
}

/**
 * Finds the channels of this process. A bundler may put several copies of this module into a process, and a development
 * server loads it again at every change; what they share must stand outside of them. The number stands for the shape of
 * Channel: a version of this package that changes the shape changes the number, and so does not meet the channels of others.
 */
const registryKey: unique symbol = Symbol.for("authwire.channels.1")

/** How often a channel is checked: it closes at the second check in a row without a call. In milliseconds. */
const checkMs = 30_000

/**
 * A transport over the channel that all clients of this process with equal options share. The channel closes with the last
 * client that uses it. It also closes when it is idle, since an adapter is never closed: the next call then opens another.
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
    // Not an async function: the promise that it would add is one more turn for every call.
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

/** A digest, since the options hold secrets: whoever lists the registry must not read them. */
function keyOf({ url, tls, connections, header }: SharedTransportOptions): string {
  const security = [tls === undefined, tls?.ca, tls?.cert, tls?.key, tls?.serverName]
  const parts = [url, connections, ...security, ...[...header].flat()]
  // With their types, or a wrong option would be taken for none where a channel without it is open.
  const text = JSON.stringify(parts.map((part) => [typeof part, String(part)]))
  return createHash("sha256").update(text).digest("base64url")
}
