import type { OptionDefinition } from "./option.js"
import {
  boolean,
  choice,
  duration,
  emailAddress,
  eventKindList,
  expiry,
  httpUrl,
  integer,
  jsonObject,
  keyName,
  orNone,
  tenant,
  text,
  timeOrNothing,
} from "./values.js"

/** The commands that call a running service. */
const serviceCommands = ["users", "sessions", "policy", "audit", "webhooks"] as const

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
    help: "The API key of the command, which decides the tenant and what the command may do.",
    commands: [...serviceCommands, "console"],
  },
  email: {
    value: emailAddress(),
    help: "The user's e-mail address. users set: empty removes it.",
    commands: ["users create", "users set"],
  },
  verified: {
    value: timeOrNothing(),
    help: "Since when the address is verified.",
    commands: ["users create", "users set"],
  },
  userName: {
    flag: "name",
    value: text("NAME"),
    help: "The user's display name. users set: empty removes it.",
    commands: ["users create", "users set"],
  },
  extra: {
    value: jsonObject(),
    help: "Further properties. users set changes them key by key; it removes none, but can set one to null.",
    commands: ["users create", "users set"],
  },
  sort: {
    value: choice(["newest", "oldest", "last-seen"]),
    default: "newest",
    help: "The order. last-seen: only users who have signed in, by the day of their last use.",
    commands: ["users list"],
  },
  user: {
    value: text("ID"),
    isRequired: true,
    help: "The id of the user whose sessions are meant.",
    commands: ["sessions list"],
  },
  userOfAll: {
    flag: "user",
    value: text("ID"),
    help: "The id of the user whose sessions are revoked. Default: the sessions of everybody.",
    commands: ["sessions revoke-all"],
  },
  provider: {
    value: text("ID"),
    help: "Only sessions of everybody that began with a sign-in at this provider.",
    commands: ["sessions revoke-all"],
  },
  yes: {
    value: boolean(),
    default: "false",
    help: "Do not ask for a confirmation, for scripts.",
    commands: ["sessions revoke-all"],
  },
  maxAge: {
    value: orNone(duration("1m", "36500d")),
    help: "How long after its creation a session ends, however often it is extended. none: no limit.",
    commands: ["policy set"],
  },
  idleTimeout: {
    value: orNone(duration("5m", "36500d")),
    help: "How long after its last recorded use a session ends. none: no limit.",
    commands: ["policy set"],
  },
  maxSessions: {
    value: orNone(integer(0, 1_000)),
    help: "The most sessions of a user. none: no limit.",
    commands: ["policy set"],
  },
  atLimit: {
    value: choice(["end-oldest", "reject-new"]),
    help: "What happens when a user with the most sessions signs in: the oldest session ends, or the sign-in fails.",
    commands: ["policy set"],
  },
  reason: {
    value: text("TEXT"),
    help: "Why the user is disabled, for operators.",
    commands: ["users disable"],
  },
  until: {
    value: expiry(),
    help: "When the user is enabled again: after a time (7d, 12h, 30m, 45s), or at an ISO 8601 date. Default: not until the command users enable.",
    commands: ["users disable"],
  },
  webhookName: {
    flag: "name",
    value: keyName(),
    help: "The display name of the webhook. webhooks create: must be given.",
    commands: ["webhooks create", "webhooks update"],
  },
  to: {
    value: httpUrl("URL"),
    help: "Where deliveries go: https://, to a public address. webhooks create: must be given.",
    commands: ["webhooks create", "webhooks update"],
  },
  webhookKinds: {
    flag: "kinds",
    value: eventKindList("all"),
    help: "The kinds of events that are sent, separated by commas. webhooks create: all kinds unless it is given.",
    commands: ["webhooks create", "webhooks update"],
  },
  includeUser: {
    value: choice(["on", "off"]),
    help: "Whether deliveries have the user, for which the key needs users:read. webhooks create: off unless it is given.",
    commands: ["webhooks create", "webhooks update"],
  },
  state: {
    value: choice(["enabled", "disabled"]),
    help: "Whether the webhook sends. Enabled again, it sends what has waited.",
    commands: ["webhooks update"],
  },
  overlap: {
    value: duration("1s", "7d"),
    default: "24h",
    help: "How long deliveries are signed with the previous secret too.",
    commands: ["webhooks rotate-secret"],
  },
  pending: {
    value: boolean(),
    default: "false",
    help: "Only deliveries that are still to be sent, or sent again.",
    commands: ["webhooks deliveries"],
  },
  auditUser: {
    flag: "user",
    value: text("ID"),
    help: "Only entries about the user with this id.",
    commands: ["audit"],
  },
  key: {
    value: text("ID"),
    help: "Only calls with the API key that has this id.",
    commands: ["audit"],
  },
  method: {
    value: text("SERVICE/METHOD"),
    help: "Only calls of this method, such as UserService/DeleteUser.",
    commands: ["audit"],
  },
  within: {
    value: duration("1s", "3650d"),
    default: "0",
    help: "Only entries of this past period. 0: all that are kept.",
    commands: ["audit"],
  },
  limit: {
    value: integer(1, 1_000_000),
    default: "50",
    help: "The maximum number of rows that are printed.",
    commands: ["users list", "users find", "sessions list", "audit", "webhooks list", "webhooks deliveries"],
  },
  dryRun: {
    value: boolean(),
    default: "false",
    help: "Show what would be deleted, and delete nothing.",
    commands: ["users delete", "sessions revoke", "sessions revoke-all", "tenants delete", "webhooks delete"],
  },
  confirm: {
    value: tenant(),
    help: "The name of the tenant again, for scripts. Without it the command asks for it on standard input.",
    commands: ["tenants delete"],
  },
} as const satisfies Record<string, OptionDefinition>

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
    help: "The port of the console on 127.0.0.1. 0: one that is free, as with serve --dev if this one is in use.",
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
    help: "The tenant that the key must belong to: with a key of another one the console does nothing.",
    commands: ["console"],
  },
} as const satisfies Record<string, OptionDefinition>
