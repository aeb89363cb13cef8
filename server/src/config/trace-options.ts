import type { OptionDefinition } from "./option.js"
import { choice, httpUrl, pairs, ratio, text } from "./values.js"

/**
 * Whether spans are recorded. Otherwise the other variables for traces are ignored, because platforms set them for all
 * programs.
 */
const areTraced: OptionDefinition["when"] = ({ traceExporter }) => traceExporter !== "none"
const areSent: OptionDefinition["when"] = ({ traceExporter }) => traceExporter === "otlp"

/** Options of traces. They use the standard variables of OpenTelemetry. */
export const traceOptions = {
  traceExporter: {
    flag: false,
    variable: "OTEL_TRACES_EXPORTER",
    value: choice(["none", "otlp", "console"]),
    default: "none",
    help: "The destination of the spans of sampled calls. none: no call is traced. otlp: to a collector. console: to standard output, for a trial.",
    commands: ["serve"],
  },
  traceEndpoint: {
    flag: false,
    variable: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    value: httpUrl(),
    when: areSent,
    help: "The collector's complete URL for traces. Default: OTEL_EXPORTER_OTLP_ENDPOINT followed by v1/traces.",
    commands: ["serve"],
  },
  otlpEndpoint: {
    flag: false,
    variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
    value: httpUrl(),
    when: areSent,
    default: "http://localhost:4318",
    help: "The collector's URL.",
    commands: ["serve"],
  },
  otlpProtocol: {
    flag: false,
    variable: "OTEL_EXPORTER_OTLP_PROTOCOL",
    value: choice(["http/protobuf"]),
    when: areSent,
    default: "http/protobuf",
    help: "The protocol of the collector.",
    commands: ["serve"],
  },
  otlpHeaders: {
    flag: false,
    variable: "OTEL_EXPORTER_OTLP_HEADERS",
    value: pairs(),
    when: areSent,
    help: "Headers of each request to the collector, such as its API key: NAME=VALUE, separated by commas.",
    commands: ["serve"],
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
    commands: ["serve"],
  },
  traceRatio: {
    flag: false,
    variable: "OTEL_TRACES_SAMPLER_ARG",
    value: ratio(),
    when: areTraced,
    default: "0.01",
    help: "The share of calls that traceidratio and parentbased_traceidratio sample.",
    commands: ["serve"],
  },
  traceServiceName: {
    flag: false,
    variable: "OTEL_SERVICE_NAME",
    value: text(),
    when: areTraced,
    default: "authwire",
    help: "The name of the service in traces.",
    commands: ["serve"],
  },
  traceResource: {
    flag: false,
    variable: "OTEL_RESOURCE_ATTRIBUTES",
    value: pairs(),
    when: areTraced,
    help: "Further attributes of the service in traces: NAME=VALUE, separated by commas, such as deployment.environment.name=production.",
    commands: ["serve"],
  },
} as const satisfies Record<string, OptionDefinition>
