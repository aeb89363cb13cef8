import type { DescMethod } from "@bufbuild/protobuf"
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
import type { ServerAddress } from "./options.js"

/** The span of a call in a trace of the application. */
export interface CallTrace {
  /** The headers that propagate the trace to the service (W3C Trace Context). */
  readonly header: Readonly<Record<string, string>>
  /** Ends the span with the outcome of the call, and returns that outcome. */
  end<T>(outcome: Promise<T>): Promise<T>
}

/**
 * Starts the span of a call. Returns undefined if the call belongs to no trace, for example without an OpenTelemetry
 * SDK.
 */
export type TraceCall = (method: DescMethod) => CallTrace | undefined

/**
 * Propagates only the trace. Baggage belongs to the application and may contain personal data. A value that no header
 * can carry is omitted, because the call would fail.
 */
const setter: TextMapSetter<Record<string, string>> = {
  set(header, name, value) {
    if ((name === "traceparent" || name === "tracestate") && /^[\x20-\x7e]*$/.test(value)) header[name] = value
  },
}

/**
 * Creates a function that starts a span for each call, as a child of the active span, with the OpenTelemetry SDK that
 * the application has registered.
 *
 * @param system - The name of the protocol in the semantic conventions.
 * @param server - Host and port of the service.
 */
export function callTracer(system: "grpc" | "connectrpc", { host, port }: ServerAddress): TraceCall {
  const serverAttributes: Attributes = { "server.address": host, "server.port": port }
  return (method) => {
    const active = context.active()
    const name = `${method.parent.typeName}/${method.name}`
    // The tracer is looked up for each call, because the SDK may be registered after this module is loaded, and by
    // another copy of the API.
    const span = trace.getTracer("@authwire/client").startSpan(name, { kind: SpanKind.CLIENT }, active)
    if (!isSpanContextValid(span.spanContext())) return undefined
    const header: Record<string, string> = {}
    propagation.inject(trace.setSpan(active, span), header, setter)
    if (!span.isRecording()) return { header, end: (outcome) => outcome }
    span.setAttributes({ "rpc.system.name": system, "rpc.method": name, ...serverAttributes })
    const statusOf = (code: Code | undefined) => {
      const status = statusNames[code ?? 0] ?? "UNKNOWN"
      return system === "grpc" ? status : status.toLowerCase()
    }
    return {
      header,
      end(outcome) {
        outcome.then(
          () => end(span, statusOf(undefined)),
          (error: unknown) => {
            const { code } = ConnectError.from(error)
            // NOT_FOUND is a regular response and not an error.
            end(span, statusOf(code), code !== Code.NotFound)
          },
        )
        return outcome
      },
    }
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
