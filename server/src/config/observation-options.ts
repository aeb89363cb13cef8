import { databaseCommands } from "./database-options.js"
import type { OptionDefinition } from "./option.js"
import { auditLog, choice, duration, ratio } from "./values.js"

/**
 * Whether spans are recorded. Otherwise the sampler is ignored, because platforms set it for all programs.
 */
const areTraced: OptionDefinition["when"] = ({ traceExporter }) => traceExporter !== "none"

/** Options of the log, the audit log and traces. tracing/tracing.ts reads OpenTelemetry's other variables. */
export const observationOptions = {
  logLevel: {
    isCommon: true,
    value: choice(["trace", "debug", "info", "warn", "error", "fatal", "silent"], "LEVEL"),
    default: "info",
    help: "The lowest severity that is logged; every call is one line at info.",
    commands: databaseCommands,
  },
  logFormat: {
    value: choice(["json", "text"]),
    default: "json",
    devDefault: "text",
    help: "One JSON object per line, or text for people. Logs go to standard error.",
    commands: databaseCommands,
  },
  auditLog: {
    value: auditLog(),
    default: "stderr",
    devDefault: "off",
    help: "The destination of the audit log: stderr, off, or a file, to which lines are appended. Nothing waits for the disk (there is no fsync).",
  },
  auditLogFailure: {
    value: choice(["drop", "reject"]),
    default: "drop",
    help: "The behaviour while the audit log cannot be written. drop: up to 1 MiB of lines is buffered in each process; further lines are lost, and counted in both logs. reject: calls that write are rejected with UNAVAILABLE, and the lines of admitted writes are kept until they can be written or the process ends.",
  },
  auditStore: {
    value: choice(["log", "database"]),
    default: "log",
    devDefault: "database",
    help: "log: entries of the audit are kept in the audit log only. database: also in the database, where AuditService.ListAuditEntries and authwire audit read them. The entry of a write is committed with it, as one more row. Must be the same on all replicas.",
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
    help: "The destination of the spans of sampled calls. none: no call is traced. otlp: to a collector, over HTTP with Protobuf. console: to standard output, for a trial. Further standard variables of OpenTelemetry, such as OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_RESOURCE_ATTRIBUTES, name the collector and the service.",
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
} as const satisfies Record<string, OptionDefinition>
