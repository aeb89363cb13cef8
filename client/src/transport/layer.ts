import { Code, ConnectError, type Transport } from "@connectrpc/connect"

/** Makes a unary call. */
export type Unary = Transport["unary"]

/** A step on the way of a unary call. It makes the call by the next step. */
export type Layer = (next: Unary) => Unary

/**
 * Creates a transport whose calls pass these layers in order, and then the given transport. A layer that is undefined is
 * left out. Streams are passed to the given transport as they are, because no method of the typed clients has one.
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

/** Adds the headers of the connection to every call. Headers of the call replace them. */
export function connectionHeaders(connection: Headers): Layer {
  return (next) =>
    (method, signal, timeoutMs, header, ...rest) =>
      next(method, signal, timeoutMs, header === undefined ? connection : merged(connection, header), ...rest)
}

/** Returns the headers of both. A header of `more` replaces that of `header`. */
export function merged(header: HeadersInit | undefined, more: HeadersInit): Headers {
  const whole = new Headers(header)
  for (const [name, value] of new Headers(more)) whole.set(name, value)
  return whole
}
