import type { OptionDefinition } from "./option.js"
import { boolean, expiry, httpUrl, integer, text } from "./values.js"

/** The commands that call a running service. */
const serviceCommands = ["users", "sessions"] as const

/** Options of the commands that call a running service: its address, the key, and what is selected. */
export const administrationOptions = {
  serviceUrl: {
    flag: "url",
    variable: "AUTHWIRE_URL",
    value: httpUrl("URL"),
    default: "http://127.0.0.1:50051",
    help: "The address of the service: its gRPC listener or its HTTP listener.",
    commands: serviceCommands,
  },
  serviceKey: {
    flag: false,
    variable: "AUTHWIRE_API_KEY",
    orFile: true,
    value: text(),
    help: "The API key of the command. It decides the tenant, and its scopes decide what the command may do.",
    commands: [...serviceCommands, "console"],
  },
  user: {
    value: text("ID"),
    isRequired: true,
    help: "The id of the user whose sessions are meant.",
    commands: ["sessions list", "sessions revoke-all"],
  },
  reason: {
    value: text("TEXT"),
    help: "Why the user is disabled, for operators.",
    commands: ["users disable"],
  },
  until: {
    value: expiry(),
    help: "When the user is enabled again: after a number of days, hours, minutes or seconds (7d, 12h, 30m, 45s), or at an ISO 8601 date. Default: not until the command users enable.",
    commands: ["users disable"],
  },
  limit: {
    value: integer(1, 1_000_000),
    default: "50",
    help: "The maximum number of rows that are printed.",
    commands: ["users find", "sessions list"],
  },
  dryRun: {
    value: boolean(),
    default: "false",
    help: "Show what would be deleted, and delete nothing.",
    commands: ["users delete", "sessions revoke", "sessions revoke-all"],
  },
} as const satisfies Record<string, OptionDefinition>
