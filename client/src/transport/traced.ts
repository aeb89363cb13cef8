import type { Transport } from "@connectrpc/connect"
import type { TraceCall } from "./trace.js"

/** Creates a transport whose unary calls are traced. */
export function tracedTransport(inner: Transport, traceCall: TraceCall): Transport {
  return {
    // Not an async function, because its additional promise would delay every call by one microtask.
    unary(method, signal, timeoutMs, header, input, contextValues) {
      const trace = traceCall(method)
      if (trace === undefined) return inner.unary(method, signal, timeoutMs, header, input, contextValues)
      const whole = withHeader(header, trace.header)
      return trace.end(inner.unary(method, signal, timeoutMs, whole, input, contextValues))
    },
    stream: (...call) => inner.stream(...call),
  }
}

/** Returns a copy of a header with additional entries. */
export function withHeader(header: HeadersInit | undefined, more: Readonly<Record<string, string>>): Headers {
  const whole = new Headers(header)
  for (const [name, value] of Object.entries(more)) whole.set(name, value)
  return whole
}
