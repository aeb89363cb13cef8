import { Code, ConnectError } from "@connectrpc/connect"
import {
  type Attributes,
  context,
  isSpanContextValid,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapSetter,
  trace,
} from "@opentelemetry/api"
import { statusNames } from "../errors/error.js"
import { type Layer, merged } from "./layer.js"
import type { ServerAddress } from "./options.js"

/** Propagates only the trace: baggage may be personal. What no header can carry is omitted. */
const setter: TextMapSetter<Record<string, string>> = {
  set(header, name, value) {
    if ((name === "traceparent" || name === "tracestate") && /^[\x20-\x7e]*$/.test(value)) header[name] = value
  },
}

/**
 * Starts a span for each call, as a child of the active span, with the OpenTelemetry SDK that the application has
 * registered, and propagates it to the service (W3C Trace Context). Without an SDK a call has no span.
 *
 * @param system - The name of the protocol in the semantic conventions.
 * @param server - Host and port of the service.
 */
export function traced(system: "grpc" | "connectrpc", { host, port }: Pick<ServerAddress, "host" | "port">): Layer {
  const attributes: Attributes = { "rpc.system.name": system, "server.address": host, "server.port": port }
  const statusOf = (code: Code | undefined) => {
    const status = statusNames[code ?? 0] ?? "UNKNOWN"
    return system === "grpc" ? status : status.toLowerCase()
  }
  // Not an async function, because its additional promise would delay every call by one microtask.
  return (next) => (method, signal, timeoutMs, header, input, contextValues) => {
    const active = context.active()
    const name = `${method.parent.typeName}/${method.name}`
    // The tracer is looked up for each call, because the SDK may be registered after this module is loaded, and by
    // another copy of the API.
    const span = trace.getTracer("@authwire/client").startSpan(name, { kind: SpanKind.CLIENT }, active)
    if (!isSpanContextValid(span.spanContext())) return next(method, signal, timeoutMs, header, input, contextValues)
    span.setAttributes({ ...attributes, "rpc.method": name })
    const propagated: Record<string, string> = {}
    propagation.inject(trace.setSpan(active, span), propagated, setter)
    const outcome = next(method, signal, timeoutMs, merged(header, propagated), input, contextValues)
    outcome.then(
      () => end(span, statusOf(undefined)),
      (error: unknown) => {
        const { code } = ConnectError.from(error)
        // NOT_FOUND is a regular response and not an error.
        end(span, statusOf(code), code !== Code.NotFound)
      },
    )
    return outcome
  }
}

function end(span: Span, status: string, isError = false): void {
  span.setAttribute("rpc.response.status_code", status)
  if (isError) {
    span.setAttribute("error.type", status)
    span.setStatus({ code: SpanStatusCode.ERROR })
  }
  span.end()
}
