import type { OptionDefinition } from "./option.js"
import { boolean, certificateName, expiry, keyName, scopes, tenant } from "./values.js"

/** The options of `authwire keys create`. */
export const keyOptions = {
  name: {
    variable: false,
    value: keyName(),
    isRequired: true,
    help: "The display name of the new key: the application that uses it.",
    commands: ["keys create"],
  },
  scopes: {
    variable: false,
    value: scopes(),
    isRequired: true,
    help: "The scopes of the new key, separated by commas, or all. The schema states the scope of each method.",
    commands: ["keys create"],
  },
  tenant: {
    variable: false,
    value: tenant(),
    default: "default",
    help: "The tenant of the new key, or the tenant whose data is imported or exported, or whose events are printed.",
    commands: ["keys create", "import", "export", "doctor", "events tail"],
  },
  expires: {
    variable: false,
    value: expiry(),
    help: "When the new key expires: after a number of days, hours, minutes or seconds (90d, 12h, 30m, 45s), or at an ISO 8601 date. Without it the key does not expire.",
    commands: ["keys create"],
  },
  certificateName: {
    variable: false,
    value: certificateName(),
    help: "A name in client certificates. Clients with such a certificate are authenticated as the new key without its secret.",
    commands: ["keys create"],
  },
  offline: {
    variable: false,
    value: boolean(),
    default: "false",
    help: "Create the new key without a database: print it and its entry for AUTHWIRE_API_KEYS.",
    commands: ["keys create"],
  },
} as const satisfies Record<string, OptionDefinition>
