import type { OptionDefinition } from "./option.js"
import { choice, httpUrl, integer, tenant } from "./values.js"

/** Options of the operator's console. */
export const consoleOptions = {
  console: {
    value: choice(["on", "off"]),
    default: "off",
    devDefault: "on",
    help: "Whether --dev also serves the console for this service.",
  },
  consolePort: {
    value: integer(0, 65_535),
    default: "8090",
    help: "The port of the console on 127.0.0.1. 0: one that is free. With serve --dev it is also a free one if this one is in use.",
    commands: ["serve", "console"],
  },
  consoleServiceUrl: {
    flag: "url",
    variable: "AUTHWIRE_HTTP_URL",
    value: httpUrl("URL"),
    default: "http://127.0.0.1:8080",
    help: "The address of the service's HTTP listener.",
    commands: ["console"],
  },
  consoleTenant: {
    flag: "tenant",
    value: tenant(),
    help: "The tenant that the key must belong to. With a key of another tenant the console shows nothing and does nothing. Without it, the tenant of the key.",
    commands: ["console"],
  },
} as const satisfies Record<string, OptionDefinition>
