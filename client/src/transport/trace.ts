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
import { statusNames } from "../error.js"

/** A call in the trace of the application. */
export interface CallTrace {
  /** What tells the service of the trace (W3C Trace Context). */
  readonly header: Readonly<Record<string, string>>
  /** Ends the span of the call with its outcome, and returns that. */
  end<T>(outcome: Promise<T>): Promise<T>
}

/** Undefined for a call that belongs to no trace, as where the application has no SDK of OpenTelemetry. */
export type TraceCall = (method: DescMethod) => CallTrace | undefined

/** Of what a propagator knows, only the trace: baggage is the application's own, and may say whom it is about. */
const setter: TextMapSetter<Record<string, string>> = {
  set(header, name, value) {
    if (name === "traceparent" || name === "tracestate") header[name] = value
  },
}

/**
 * Makes a span for each call by the SDK of OpenTelemetry that the application has registered, inside of the span that is
 * active there.
 *
 * @param system - The protocol, as the semantic conventions call it.
 * @param address - Host and port of the service, if they are known.
 */
export function callTracer(system: "grpc" | "connectrpc", address?: string): TraceCall {
  const [, host, port] = /^(.*):(\d+)$/.exec(address ?? "") ?? []
  const place: Attributes = host === undefined ? {} : { "server.address": host, "server.port": Number(port) }
  return (method) => {
    const active = context.active()
    const name = `${method.parent.typeName}/${method.name}`
    // Asked for each time: the SDK may be registered later than this module is loaded, and by another copy of the API.
    const span = trace.getTracer("@authwire/client").startSpan(name, { kind: SpanKind.CLIENT }, active)
    if (!isSpanContextValid(span.spanContext())) return undefined
    const header: Record<string, string> = {}
    propagation.inject(trace.setSpan(active, span), header, setter)
    if (!span.isRecording()) return { header, end: (outcome) => outcome }
    span.setAttributes({ "rpc.system.name": system, "rpc.method": name, ...place })
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
            // That there is no such thing is an answer.
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
