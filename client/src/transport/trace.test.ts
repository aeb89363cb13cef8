import { SessionService } from "@authwire/proto/slim"
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { context, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api"
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core"
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace"
import * as edge from "../edge.js"
import { type AuthwireClient, createAuthwireClient } from "../index.js"
import type { Unary } from "./layer.js"
import { traced } from "./trace.js"

const method = SessionService.method.getSessionAndUser
const server = { host: "::1", port: 50_051 }

/** Makes a call with this outcome. Returns its promise and the headers that it was sent with. */
function call(system: "grpc" | "connectrpc" = "grpc", outcome = new Promise<never>(() => {})) {
  let sent: HeadersInit | undefined
  const next: Unary = (_, __, ___, header) => {
    sent = header
    return outcome
  }
  const response = traced(system, server)(next)(method, undefined, undefined, undefined, {})
  return { response, header: sent && Object.fromEntries(new Headers(sent)) }
}

test("without an SDK a call has no trace", () => {
  expect(call().header).toBeUndefined()
})

describe("with an SDK", () => {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()]
  const propagator = new CompositePropagator({ propagators })
  beforeAll(() => {
    trace.setGlobalTracerProvider(provider)
    propagation.setGlobalPropagator(propagator)
  })
  afterAll(() => {
    trace.disable()
    propagation.disable()
  })

  test.each<["grpc" | "connectrpc", Promise<never>, object, boolean]>([
    ["grpc", Promise.resolve("x" as never), { "rpc.response.status_code": "OK" }, false],
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
    const { response, header } = call(system, outcome)
    expect(response).toBe(outcome)
    await outcome.catch(() => {})
    const [span] = exporter.getFinishedSpans()
    expect(header).toEqual({
      traceparent: `00-${span?.spanContext().traceId}-${span?.spanContext().spanId}-01`,
    })
    expect(span?.name).toBe("authwire.v1.SessionService/GetSessionAndUser")
    expect(span?.status.code === 2).toBe(isError)
    expect(span?.attributes).toEqual({
      "rpc.system.name": system,
      "rpc.method": "authwire.v1.SessionService/GetSessionAndUser",
      "server.address": "::1",
      "server.port": 50051,
      ...attributes,
    })
  })

  test.each<[string, string | undefined, string, number]>([
    ["https://a.example", undefined, "a.example", 443],
    ["http://a.example", undefined, "a.example", 80],
    ["https://a.example:443/prefix", "https://a.example:443", "a.example", 443],
    ["http://[::1]", undefined, "::1", 80],
    ["http://[::1]:50051", undefined, "::1", 50_051],
    ["http://127.0.0.1:8080", undefined, "127.0.0.1", 8_080],
    ["http://a.example:50051", "dns:///a.example:50051", "a.example", 50_051],
  ])("a span names the server of %s, over fetch and gRPC", async (url, grpcUrl = url, host, port) => {
    const spanOf = async (client: AuthwireClient) => {
      exporter.reset()
      await client.adapter.getUser("u1").catch(() => {})
      return exporter.getFinishedSpans()[0]?.attributes
    }
    const transport = createRouterTransport(() => {})
    const fetch = async () => new Response()
    for (const client of [edge.createAuthwireClient({ url, fetch }), createAuthwireClient({ url: grpcUrl, transport })])
      expect(await spanOf(client)).toMatchObject({ "server.address": host, "server.port": port })
  })

  test("a value that no header can carry is not propagated", () => {
    propagation.disable()
    const values = { traceparent: "00-1-2-01", tracestate: "k=é\n" }
    propagation.setGlobalPropagator({
      inject(_, carrier, setter) {
        for (const [name, value] of Object.entries(values)) setter.set(carrier, name, value)
      },
      extract: (active) => active,
      fields: () => [],
    })
    const { header } = call()
    propagation.disable()
    propagation.setGlobalPropagator(propagator)
    expect(header).toEqual({ traceparent: "00-1-2-01" })
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
    expect(Object.keys(call().header ?? {})).toEqual(["traceparent"])
    context.disable()
  })
})
