import type { Transport } from "@connectrpc/connect"

/** Creates a transport that adds the headers of the connection to every call. Headers of the call replace them. */
export function headerTransport(inner: Transport, connection: Headers): Transport {
  const merged = (header: HeadersInit | undefined) => {
    if (header === undefined) return connection
    const whole = new Headers(connection)
    for (const [name, value] of new Headers(header)) whole.set(name, value)
    return whole
  }
  return {
    unary: (method, signal, timeoutMs, header, ...rest) =>
      inner.unary(method, signal, timeoutMs, merged(header), ...rest),
    stream: (method, signal, timeoutMs, header, ...rest) =>
      inner.stream(method, signal, timeoutMs, merged(header), ...rest),
  }
}
