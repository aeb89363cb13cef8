import type { Option } from "./option.js"
import { boolean, certificateName, expiry, keyName, scopes, tenant } from "./values.js"

/** The options of `authwire keys create`. */
export const keyOptions = {
  name: {
    flag: "name",
    value: keyName(),
    isRequired: true,
    help: "What people call the new key: the application that has it.",
    commands: ["keys create"],
  },
  scopes: {
    flag: "scopes",
    value: scopes(),
    isRequired: true,
    help: "What the new key may do: scopes, separated by commas, or all. Those of a method stand in the schema.",
    commands: ["keys create"],
  },
  tenant: {
    flag: "tenant",
    value: tenant(),
    default: "default",
    help: "Whose data the new key is for, or is imported or exported, or whose events are printed.",
    commands: ["keys create", "import", "export", "doctor", "events tail"],
  },
  expires: {
    flag: "expires",
    value: expiry(),
    help: "When the new key ends: after some days, hours, minutes or seconds (90d, 12h, 30m, 45s), or at a date of ISO 8601. Without it the key has no end.",
    commands: ["keys create"],
  },
  certificateName: {
    flag: "certificate-name",
    value: certificateName(),
    help: "A name in client certificates whose bearers are let in without the secret of the new key.",
    commands: ["keys create"],
  },
  offline: {
    flag: "offline",
    value: boolean(),
    default: "false",
    help: "Make the new key without a database: print it and its entry for AUTHWIRE_API_KEYS.",
    commands: ["keys create"],
  },
} as const satisfies Record<string, Option>
