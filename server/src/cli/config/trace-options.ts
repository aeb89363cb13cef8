import type { Option } from "./option.js"
import { choice, httpUrl, pairs, ratio, text } from "./values.js"

/** Whether spans are recorded. What else is told of traces counts only then: platforms set it for everybody. */
const areTraced: Option["when"] = ({ traceExporter }) => traceExporter !== "none"
const areSent: Option["when"] = ({ traceExporter }) => traceExporter === "otlp"

/** Traces, by the variables that OpenTelemetry has for them everywhere. */
export const traceOptions = {
  traceExporter: {
    variable: "OTEL_TRACES_EXPORTER",
    value: choice(["none", "otlp", "console"]),
    default: "none",
    help: "Where the spans of sampled calls go. none: no call is traced. otlp: to a collector. console: to standard output, to try it out.",
    commands: ["serve"],
  },
  traceEndpoint: {
    variable: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    value: httpUrl(),
    when: areSent,
    help: "The collector's URL for traces, whole. Default: that of OTEL_EXPORTER_OTLP_ENDPOINT with v1/traces behind it.",
    commands: ["serve"],
  },
  otlpEndpoint: {
    variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
    value: httpUrl(),
    when: areSent,
    default: "http://localhost:4318",
    help: "The collector's URL.",
    commands: ["serve"],
  },
  otlpProtocol: {
    variable: "OTEL_EXPORTER_OTLP_PROTOCOL",
    value: choice(["http/protobuf"]),
    when: areSent,
    default: "http/protobuf",
    help: "How the collector is spoken to.",
    commands: ["serve"],
  },
  otlpHeaders: {
    variable: "OTEL_EXPORTER_OTLP_HEADERS",
    value: pairs(),
    when: areSent,
    help: "Headers of each request to the collector, such as a key of it: NAME=VALUE, separated by commas.",
    commands: ["serve"],
  },
  traceSampler: {
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
    help: "Which calls are traced. Those that begin with parentbased follow the application for calls that belong to a trace of it; the context of a caller without a valid API key is never followed.",
    commands: ["serve"],
  },
  traceRatio: {
    variable: "OTEL_TRACES_SAMPLER_ARG",
    value: ratio(),
    when: areTraced,
    default: "0.01",
    help: "The share of the calls that traceidratio and parentbased_traceidratio sample.",
    commands: ["serve"],
  },
  traceServiceName: {
    variable: "OTEL_SERVICE_NAME",
    value: text(),
    when: areTraced,
    default: "authwire",
    help: "The name of the service in traces.",
    commands: ["serve"],
  },
  traceResource: {
    variable: "OTEL_RESOURCE_ATTRIBUTES",
    value: pairs(),
    when: areTraced,
    help: "What else the traces say of the service: NAME=VALUE, separated by commas, such as deployment.environment.name=production.",
    commands: ["serve"],
  },
} as const satisfies Record<string, Option>
