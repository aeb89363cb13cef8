import type { Option } from "./option.js"

/** The options of `authwire keys create`. */
export const keyOptions = [
  {
    flag: "name",
    type: "text",
    placeholder: "NAME",
    help: "What people call the new key: the application that has it.",
    commands: ["keys"],
  },
  {
    flag: "scopes",
    type: "text",
    placeholder: "a,b|all",
    help: "What the new key may do: scopes, separated by commas, or all. Those of a method stand in the schema.",
    commands: ["keys"],
  },
  {
    flag: "tenant",
    type: "text",
    placeholder: "NAME",
    default: "default",
    help: "Whose data the new key is for.",
    commands: ["keys"],
  },
  {
    flag: "expires",
    type: "text",
    placeholder: "90d|12h|DATE",
    help: "When the new key ends: after some days, hours, minutes or seconds (90d, 12h, 30m, 45s), or at a date of ISO 8601. Without it the key has no end.",
    commands: ["keys"],
  },
  {
    flag: "certificate-name",
    type: "text",
    placeholder: "DNS:NAME",
    help: "A name in client certificates whose bearers are let in without the secret of the new key.",
    commands: ["keys"],
  },
  {
    flag: "offline",
    type: "boolean",
    help: "Make the new key without a database: print it and its entry for AUTHWIRE_API_KEYS.",
    commands: ["keys"],
  },
] as const satisfies readonly Option[]
