import type { OptionDefinition } from "./option.js"
import { auditLog, choice, duration, httpUrl, pairs, ratio, text } from "./values.js"

/**
 * Whether spans are recorded. Otherwise the other variables for traces are ignored, because platforms set them for all
 * programs.
 */
const areTraced: OptionDefinition["when"] = ({ traceExporter }) => traceExporter !== "none"
const areSent: OptionDefinition["when"] = ({ traceExporter }) => traceExporter === "otlp"

/** Options of the log, the audit log and traces. Traces use the standard variables of OpenTelemetry. */
export const observationOptions = {
  logLevel: {
    isCommon: true,
    value: choice(["trace", "debug", "info", "warn", "error", "fatal", "silent"], "LEVEL"),
    default: "info",
    help: "The lowest severity that is logged; every call is one line at info.",
    commands: ["serve", "migrate", "rekey", "cleanup", "import", "export", "doctor", "keys", "tenants", "events"],
  },
  logFormat: {
    value: choice(["json", "text"]),
    default: "json",
    devDefault: "text",
    help: "One JSON object per line, or text for people. Logs go to standard error.",
    commands: ["serve", "migrate", "rekey", "cleanup", "import", "export", "doctor", "keys", "tenants", "events"],
  },
  auditLog: {
    value: auditLog(),
    default: "stderr",
    devDefault: "off",
    help: "The destination of the audit log: stderr, off, or a file, to which lines are appended. Every write and every rejected call is recorded as one JSON object per line, whatever the log level. A line is handed to the operating system after its call; nothing waits for the disk (there is no fsync).",
  },
  auditLogFailure: {
    value: choice(["drop", "reject"]),
    default: "drop",
    help: "The behaviour while the audit log cannot be written, because its disk is full or its pipe is not read. drop: up to 1 MiB of lines is buffered in each worker; further lines are lost, and counted in both logs. reject: calls that write are rejected with UNAVAILABLE before they do anything, and the lines of all admitted writes are kept until they can be written or the process ends.",
  },
  auditStore: {
    value: choice(["log", "database"]),
    default: "log",
    help: "Where entries of the audit are kept. log: only in the audit log. database: also in the database, where AuditService.ListAuditEntries and authwire audit read them. The entry of a write is committed together with the write, which costs one more row for each write. Must be the same on all replicas.",
  },
  auditKeep: {
    value: duration("1h", "3650d"),
    default: "90d",
    help: "How long entries of the audit are kept in the database. 0: until somebody deletes them.",
    commands: ["serve", "cleanup"],
  },
  traceExporter: {
    flag: false,
    variable: "OTEL_TRACES_EXPORTER",
    value: choice(["none", "otlp", "console"]),
    default: "none",
    help: "The destination of the spans of sampled calls. none: no call is traced. otlp: to a collector. console: to standard output, for a trial.",
  },
  traceEndpoint: {
    flag: false,
    variable: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    value: httpUrl(),
    when: areSent,
    help: "The collector's complete URL for traces. Default: OTEL_EXPORTER_OTLP_ENDPOINT followed by v1/traces.",
  },
  otlpEndpoint: {
    flag: false,
    variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
    value: httpUrl(),
    when: areSent,
    default: "http://localhost:4318",
    help: "The collector's URL.",
  },
  otlpProtocol: {
    flag: false,
    variable: "OTEL_EXPORTER_OTLP_PROTOCOL",
    value: choice(["http/protobuf"]),
    when: areSent,
    default: "http/protobuf",
    help: "The protocol of the collector.",
  },
  otlpHeaders: {
    flag: false,
    variable: "OTEL_EXPORTER_OTLP_HEADERS",
    value: pairs(),
    when: areSent,
    help: "Headers of each request to the collector, such as its API key: NAME=VALUE, separated by commas.",
  },
  traceSampler: {
    flag: false,
    variable: "OTEL_TRACES_SAMPLER",
    value: choice([
      "always_on",
      "always_off",
      "traceidratio",
      "parentbased_always_on",
      "parentbased_always_off",
      "parentbased_traceidratio",
    ]),
    when: areTraced,
    default: "parentbased_traceidratio",
    help: "The sampler that decides which calls are traced. Samplers that begin with parentbased follow the application's decision for calls that belong to one of its traces. The trace context of a caller without a valid API key is never followed.",
  },
  traceRatio: {
    flag: false,
    variable: "OTEL_TRACES_SAMPLER_ARG",
    value: ratio(),
    when: areTraced,
    default: "0.01",
    help: "The share of calls that traceidratio and parentbased_traceidratio sample.",
  },
  traceServiceName: {
    flag: false,
    variable: "OTEL_SERVICE_NAME",
    value: text(),
    when: areTraced,
    default: "authwire",
    help: "The name of the service in traces.",
  },
  traceResource: {
    flag: false,
    variable: "OTEL_RESOURCE_ATTRIBUTES",
    value: pairs(),
    when: areTraced,
    help: "Further attributes of the service in traces: NAME=VALUE, separated by commas, such as deployment.environment.name=production.",
  },
} as const satisfies Record<string, OptionDefinition>
