import { afterEach, expect, test } from "@jest/globals"
import { pino } from "pino"
import { startTracing } from "./tracing.js"

const environment = { ...process.env }
afterEach(() => {
  process.env = environment
})

test.each<[what: string, code: string, variables: Record<string, string>]>([
  ["a URL without a scheme", "ERR_INVALID_PROTOCOL", { OTEL_EXPORTER_OTLP_ENDPOINT: "hunter2:4317" }],
  ["a header with a line break", "ERR_INVALID_CHAR", { OTEL_EXPORTER_OTLP_HEADERS: "hunter2=hunter2%0A" }],
  ["a header name with a space", "ERR_INVALID_HTTP_TOKEN", { OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x hunter2=1" }],
])("S-36: with %s, spans are lost, and one line says so with the code only", async (_, code, variables) => {
  process.env = { ...environment, OTEL_RESOURCE_ATTRIBUTES: "hunter2", ...variables }
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const settings = { traceExporter: "otlp", traceSampler: "always_on", traceRatio: 1 } as const
  const { tracer, stop } = startTracing(settings, { log, metrics: undefined })
  tracer.startSpan("a").end()
  await stop()
  expect(lines).toEqual([expect.stringContaining(`"code":"${code}"`)])
  expect(lines.join()).not.toContain("hunter2")
})
