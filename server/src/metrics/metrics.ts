import type { DescMethod } from "@bufbuild/protobuf"
import { status } from "@grpc/grpc-js"
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import type { CleanupObserver } from "../cleanup/cleaner.js"
import type { FeedObserver } from "../events/feed.js"
import { codeOf, type Failure, type Reason } from "../rpc/errors.js"
import { cleanupMetrics } from "./cleanup.js"
import { type DatabaseMetrics, databaseMetrics } from "./database.js"
import { eventMetrics } from "./events.js"
import { type LimitLoads, limitMetrics } from "./limits.js"
import { type SessionCacheLoad, sessionCacheMetrics } from "./session-caches.js"
import { type SpanMetrics, spanMetrics } from "./traces.js"

/** What a process has measured, as it passes between processes. */
export type MetricValues = object[]

/** Counts and times calls, for Prometheus. */
export interface Metrics {
  /** Hears of a call that is over; with a failure if it failed. `ms`: how long it took, in milliseconds. */
  ended(method: DescMethod, transport: string, failure: Failure | undefined, ms: number): void
  /** Hears of a call that was rejected before it began. `code`: the status of gRPC; `reason`: why, where there is one. */
  rejected(method: DescMethod, transport: string, code: number, reason?: Reason): void
  /** Hears whether the database answers and takes writes. */
  database(answers: boolean): void
  /** Hears of the deletion of what has expired. */
  readonly cleanup: CleanupObserver
  readonly events: FeedObserver
  readonly store: DatabaseMetrics
  readonly spans: SpanMetrics
  /** Has the load of the concurrency limits shown. */
  limits(loads: LimitLoads): void
  /** Has the load of session caches shown. */
  sessionCaches(load: SessionCacheLoad): void
  values(): Promise<MetricValues>
}

/** Seconds: from a lookup on one machine to the longest that a call may take. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const types = { unary: "unary", client_streaming: "client_stream", server_streaming: "server_stream" } as const

/** @param worker the number of this process, where several serve: a label of everything. */
export function createMetrics(worker?: number): Metrics {
  const registry = new Registry()
  if (worker !== undefined) registry.setDefaultLabels({ worker: String(worker) })
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  // The names are those of the gRPC ecosystem, so that its dashboards fit.
  const labelNames = ["grpc_type", "grpc_service", "grpc_method", "transport"] as const
  const handled = new Counter({
    name: "grpc_server_handled_total",
    help: "Calls that are over, by their status. Calls in a pipeline have the transport pipeline.",
    labelNames: [...labelNames, "grpc_code"] as const,
    registers,
  })
  const handling = new Histogram({
    name: "grpc_server_handling_seconds",
    help: "How long calls took from when they began until they were answered, those that were rejected at once left out.",
    labelNames,
    buckets,
    registers,
  })
  const failures = new Counter({
    name: "authwire_failures_total",
    help: "Calls that failed or were rejected, by the reason that stands in their error.",
    labelNames: ["reason"] as const,
    registers,
  })
  const database = new Gauge({
    name: "authwire_database_up",
    help: "Whether the database answers and takes writes: 1 or 0.",
    registers,
  })

  const labelsOf = ({ methodKind, parent, name }: DescMethod, transport: string) => ({
    grpc_type: methodKind === "bidi_streaming" ? "bidi_stream" : types[methodKind],
    grpc_service: parent.typeName,
    grpc_method: name,
    transport,
  })
  /** What counts the calls of a method, a listener and a code: there are as many as these. */
  const series = new Map<string, { inc(): void; observe(seconds: number): void }>()
  const seriesOf = (method: DescMethod, transport: string, code: string) => {
    const key = `${method.parent.typeName}/${method.name} ${transport} ${code}`
    let one = series.get(key)
    if (one === undefined) {
      const labels = labelsOf(method, transport)
      const [count, time] = [handled.labels({ ...labels, grpc_code: code }), handling.labels(labels)]
      one = { inc: () => count.inc(), observe: (seconds) => time.observe(seconds) }
      series.set(key, one)
    }
    return one
  }

  return {
    ended(method, transport, failure, ms) {
      const one = seriesOf(method, transport, failure === undefined ? "OK" : (status[codeOf(failure.reason)] ?? ""))
      one.inc()
      one.observe(ms / 1000)
      if (failure !== undefined) failures.inc({ reason: failure.reason })
    },
    rejected(method, transport, code, reason) {
      seriesOf(method, transport, status[code] ?? "").inc()
      if (reason !== undefined) failures.inc({ reason })
    },
    database: (answers) => database.set(answers ? 1 : 0),
    cleanup: cleanupMetrics(registry),
    events: eventMetrics(registry),
    store: databaseMetrics(registers),
    spans: spanMetrics(registers),
    limits: limitMetrics(registers),
    sessionCaches: sessionCacheMetrics(registers),
    async values() {
      // No two processes have the same labels: nothing is added up, and nothing need be left out because it cannot be.
      return (await registry.getMetricsAsJSON()).map((metric) => ({ ...metric, aggregator: "sum" }))
    },
  }
}

/** How many workers serve, as values of the process that knows. */
export async function workersMetric(count: number): Promise<MetricValues> {
  const registry = new Registry()
  const help = "Processes that serve calls."
  new Gauge({ name: "authwire_workers", help, registers: [registry] }).set(count)
  return registry.getMetricsAsJSON()
}

/** The type of `expose`'s text. */
export const contentType = Registry.PROMETHEUS_CONTENT_TYPE

/** The text that Prometheus reads, of what one or several processes have measured. */
export function expose(values: readonly MetricValues[]): Promise<string> {
  return AggregatorRegistry.aggregate([...values]).metrics()
}
