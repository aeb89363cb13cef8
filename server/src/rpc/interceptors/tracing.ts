import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapPropagator,
  type Tracer,
  trace,
} from "@opentelemetry/api"
import { isOwnMethod } from "../../auth/scopes.js"
import { statusName } from "../../errors/status.js"
import type { Call } from "../call.js"
import { type CallEnded, fullName, type Interceptor } from "../interceptor.js"

/** The spans of calls. */
export interface CallSpans {
  readonly interceptor: Interceptor
  /** Ends the span of a finished call. The times are those of `performance.now()`. */
  readonly ended: CallEnded
}

export interface CallSpanOptions {
  tracer: Tracer
  /** Reads the context of the caller's trace from the headers. */
  propagator: TextMapPropagator
}

/** The status codes that mean a fault of the service and not of the request. */
const faults: ReadonlySet<string> = new Set([
  "UNKNOWN",
  "DEADLINE_EXCEEDED",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
])

const header: TextMapGetter<Call> = {
  keys: () => ["traceparent", "tracestate"],
  get: (call, name) => call.header(name),
}

/**
 * Creates a span for each unary call that the sampler selects, as part of the caller's trace. This interceptor must
 * come after authentication. Headers are not trusted before that, so an unauthenticated client can neither have calls
 * recorded nor join the trace of another client.
 */
export function callSpans({ tracer, propagator }: CallSpanOptions): CallSpans {
  return {
    interceptor: {
      admit(method) {
        if (method.methodKind !== "unary" || !isOwnMethod(method)) return undefined
        const name = fullName(method)
        return (call) => {
          const parent = propagator.extract(ROOT_CONTEXT, call, header)
          const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent)
          const isRecorded = span.isRecording()
          // The id is useless in the log if the trace is neither recorded here nor known to the caller.
          if (isRecorded || trace.getSpanContext(parent) !== undefined) call.traceId = span.spanContext().traceId
          if (!isRecorded) return undefined
          span.setAttributes({
            "rpc.system.name": "grpc",
            "rpc.method": name,
            "authwire.transport": call.transport,
            "authwire.request_id": call.requestId,
            ...(call.identity && { "authwire.tenant": call.identity.tenant }),
            ...(call.identity?.keyId !== undefined && { "authwire.key": call.identity.keyId }),
          })
          call.spans = [span]
          return undefined
        }
      },
    },

    ended({ spans }, failure, _begun, end) {
      const span = spans?.[0]
      if (span === undefined) return
      const code = failure === undefined ? "OK" : statusName(failure.code)
      span.setAttribute("rpc.response.status_code", code)
      if (failure !== undefined) span.setAttribute("authwire.reason", failure.reason)
      if (faults.has(code)) {
        span.setAttribute("error.type", code)
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end(end)
    },
  }
}
