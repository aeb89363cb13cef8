import type { OptionDefinition } from "./option.js"
import { auditLog, choice } from "./values.js"

/** Options of the log and the audit log. */
export const logOptions = {
  logLevel: {
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
    commands: ["serve"],
  },
  auditLogFailure: {
    value: choice(["drop", "reject"]),
    default: "drop",
    help: "The behaviour while the audit log cannot be written, because its disk is full or its pipe is not read. drop: up to 1 MiB of lines is buffered in each worker; further lines are lost, and counted in both logs. reject: calls that write are rejected with UNAVAILABLE before they do anything, and the lines of all admitted writes are kept until they can be written or the process ends.",
    commands: ["serve"],
  },
} as const satisfies Record<string, OptionDefinition>
