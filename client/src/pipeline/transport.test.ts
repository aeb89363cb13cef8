import { UserService } from "@authwire/proto"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { context, createTraceState, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api"
import { W3CTraceContextPropagator } from "@opentelemetry/core"
import { TracerProvider } from "@opentelemetry/sdk-trace"
import { layered } from "../transport/layer.js"
import { traced } from "../transport/trace.js"
import { pipelineTransport } from "./transport.js"

const started = new AsyncDisposableStack()
let server: Awaited<ReturnType<typeof startServer>>
let transport: Transport
beforeAll(async () => {
  const database = await createDatabase("sqlite")
  started.defer(() => database.drop())
  server = await startServer({ databaseUrl: database.url })
  started.defer(async () => void (await server.stop()))
  const pipeline = pipelineTransport({ url: server.grpcUrl })
  started.defer(() => pipeline.close())
  transport = layered([traced("grpc", { host: "127.0.0.1", port: 50051 })], pipeline)
  // A service that is slow to accept the first pipeline gets separate calls for some seconds.
  const { getUser } = createClient(UserService, transport)
  await until(async () => {
    await getUser({ id: "nobody" }).catch(() => {})
    return server.log().includes('"transport":"pipeline"')
  })
})
afterAll(() => started.disposeAsync())

/** Begins a trace whose calls have the headers traceparent and tracestate. */
function beginTrace(traceState: string): void {
  const parent = { traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 }
  const active = trace.setSpanContext(ROOT_CONTEXT, { ...parent, traceState: createTraceState(traceState) })
  trace.setGlobalTracerProvider(new TracerProvider())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  context.setGlobalContextManager({
    active: () => active,
    with: (_, call, self, ...args) => call.apply(self, args),
    bind: (_, target) => target,
    enable: () => context as never,
    disable: () => context as never,
  })
}

function endTrace(): void {
  for (const api of [context, propagation, trace]) api.disable()
}

const headersOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-h${n}`, "v"]))

test.each([
  [64, "no trace", undefined, "pipeline"],
  [65, "no trace", undefined, "grpc"],
  [62, "a trace", "k=v", "pipeline"],
  [63, "a trace", "k=v", "grpc"],
  [64, "a trace", "k=v", "grpc"],
])(
  "a call with %i headers of its own and %s (trace state: %s) is sent by %s",
  async (count, _, traceState, carrier) => {
    const requestId = crypto.randomUUID()
    const headers = { ...headersOf(count - 1), "x-request-id": requestId }
    const { getUser } = createClient(UserService, transport)
    const codeOf = (call: Promise<unknown>) => call.catch((error: unknown) => ConnectError.from(error).code)
    if (traceState !== undefined) beginTrace(traceState)
    try {
      // Calls of the same turn share the stream, and would fail with it.
      const others = Array.from({ length: 5 }, () => codeOf(getUser({ id: "nobody" })))
      expect(await codeOf(getUser({ id: "nobody" }, { headers }))).toBe(Code.NotFound)
      expect(new Set(await Promise.all(others))).toEqual(new Set([Code.NotFound]))
    } finally {
      endTrace()
    }
    const lines = () =>
      server
        .log()
        .split("\n")
        .filter((line) => line.includes(requestId) && line.endsWith("}"))
        .map((line) => JSON.parse(line) as unknown)
    await until(() => lines().length > 0)
    expect(lines()).toMatchObject([{ transport: carrier }])
  },
)

test("a call with an API key of its own is not made with that of the pipeline", async () => {
  const { getUser } = createClient(UserService, transport)
  const codeOf = (call: Promise<unknown>) => call.catch((error: unknown) => ConnectError.from(error).code)
  const headers = { authorization: `Bearer awk_${"a".repeat(16)}_${"b".repeat(43)}` }
  expect(await codeOf(getUser({ id: "nobody" }, { headers }))).toBe(Code.Unauthenticated)
  expect(await codeOf(getUser({ id: "nobody" }))).toBe(Code.NotFound)
})
