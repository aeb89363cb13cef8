import { SessionService } from "@authwire/proto/slim"
import { Code, ConnectError } from "@connectrpc/connect"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { context, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api"
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core"
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace"
import { callTracer } from "./trace.js"

const method = SessionService.method.getSessionAndUser

test("without an SDK a call has no trace", () => {
  expect(callTracer("grpc", "h:1")(method)).toBeUndefined()
})

describe("with an SDK", () => {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  beforeAll(() => {
    trace.setGlobalTracerProvider(provider)
    const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()]
    propagation.setGlobalPropagator(new CompositePropagator({ propagators }))
  })
  afterAll(() => {
    trace.disable()
    propagation.disable()
  })

  test.each<["grpc" | "connectrpc", Promise<string>, object, boolean]>([
    ["grpc", Promise.resolve("x"), { "rpc.response.status_code": "OK" }, false],
    [
      "grpc",
      Promise.reject(new ConnectError("no", Code.Unavailable)),
      { "rpc.response.status_code": "UNAVAILABLE", "error.type": "UNAVAILABLE" },
      true,
    ],
    [
      "connectrpc",
      Promise.reject(new ConnectError("no", Code.NotFound)),
      { "rpc.response.status_code": "not_found" },
      false,
    ],
  ])("a call by %s has a span that ends with its outcome", async (system, outcome, attributes, isError) => {
    exporter.reset()
    const call = callTracer(system, "[::1]:50051")(method)
    expect(call?.end(outcome)).toBe(outcome)
    await outcome.catch(() => {})
    const [span] = exporter.getFinishedSpans()
    expect(call?.header).toEqual({
      traceparent: `00-${span?.spanContext().traceId}-${span?.spanContext().spanId}-01`,
    })
    expect(span?.name).toBe("authwire.v1.SessionService/GetSessionAndUser")
    expect(span?.status.code === 2).toBe(isError)
    expect(span?.attributes).toEqual({
      "rpc.system.name": system,
      "rpc.method": "authwire.v1.SessionService/GetSessionAndUser",
      "server.address": "[::1]",
      "server.port": 50051,
      ...attributes,
    })
  })

  test("baggage of the application is not propagated", () => {
    const baggage = propagation.createBaggage({ user: { value: "ada@example.com" } })
    const carrier = {}
    const active = propagation.setBaggage(ROOT_CONTEXT, baggage)
    propagation.inject(active, carrier)
    expect(carrier).toHaveProperty("baggage")
    context.setGlobalContextManager({
      active: () => active,
      with: (_, call, self, ...args) => call.apply(self, args),
      bind: (_, target) => target,
      enable: () => context as never,
      disable: () => context as never,
    })
    expect(Object.keys(callTracer("grpc")(method)?.header ?? {})).toEqual(["traceparent"])
    context.disable()
  })
})
