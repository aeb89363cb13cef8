import type { Layer } from "./layer.js"

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
