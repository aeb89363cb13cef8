import { Code, ConnectError, type Transport } from "@connectrpc/connect"

/** Makes a unary call. */
export type Unary = Transport["unary"]

/** A step on the way of a unary call. It makes the call by the next step. */
export type Layer = (next: Unary) => Unary

/**
 * Creates a transport whose unary calls pass these layers in order, and then the given transport. A layer that is undefined
 * is left out. Streams are passed to the given transport as they are: they have no deadline, and their caller opens them again.
 */
export function layered(layers: readonly (Layer | undefined)[], transport: Transport): Transport {
  const last: Unary = (...call) => transport.unary(...call)
  const unary = layers.reduceRight((next, layer) => layer?.(next) ?? next, last)
  return { unary, stream: (...call) => transport.stream(...call) }
}

/** The streams of a transport that supports only unary methods. */
export const noStreams: Transport["stream"] = async ({ name }) => {
  throw new ConnectError(
    `${name} is a streaming method: this transport supports only unary methods`,
    Code.Unimplemented,
  )
}

/** Returns the transport, with the headers of the connection on every call. Headers of the call replace them. */
export function withHeaders(connection: Headers, transport: Transport): Transport {
  const whole = (header: HeadersInit | undefined) => (header === undefined ? connection : merged(connection, header))
  return {
    unary: (method, signal, timeoutMs, header, ...rest) =>
      transport.unary(method, signal, timeoutMs, whole(header), ...rest),
    stream: (method, signal, timeoutMs, header, ...rest) =>
      transport.stream(method, signal, timeoutMs, whole(header), ...rest),
  }
}

/** Returns the headers of both. A header of `more` replaces that of `header`. */
export function merged(header: HeadersInit | undefined, more: HeadersInit): Headers {
  const whole = new Headers(header)
  for (const [name, value] of new Headers(more)) whole.set(name, value)
  return whole
}
