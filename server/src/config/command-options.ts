import { scopePresets } from "../auth/scope-presets.js"
import { importSources } from "./import-sources.js"
import type { OptionDefinition } from "./option.js"
import {
  boolean,
  certificateName,
  choice,
  duration,
  eventKindList,
  expiry,
  integer,
  keyName,
  scopes,
  tenant,
  text,
} from "./values.js"

/** The presets of scopes, each with its sentence. */
const presets = scopePresets.map(({ name, description }) => `${name}: ${description}`).join(" ")

/** Options of single commands: `keys create`, `import`, `export`, `doctor` and `events tail`. */
export const commandOptions = {
  name: {
    value: keyName(),
    isRequired: true,
    help: "The display name of the new key: the application that uses it.",
    commands: ["keys create"],
  },
  scopes: {
    value: scopes(),
    isRequired: true,
    help: `The scopes of the new key, separated by commas. all: every scope but users:private, keys:write, session-policy:write, tenants:read, tenants:write, webhooks:read and webhooks:write. Presets: ${presets}`,
    commands: ["keys create"],
  },
  tenant: {
    value: tenant(),
    default: "default",
    help: "The tenant of the new key, or whose data is imported, exported or printed.",
    helpOf: {
      "keys create": "The tenant of the new key.",
      import: "The tenant that gets the data.",
      export: "The tenant whose data is printed.",
      doctor: "With --from: the tenant that would get the data.",
      "events tail": "The tenant whose events are printed.",
    },
    commands: ["keys create", "import", "export", "doctor", "events tail"],
  },
  expires: {
    value: expiry(),
    help: "When the new key expires: after a time (90d, 12h, 30m, 45s), or at an ISO 8601 date. Without it the key does not expire.",
    commands: ["keys create"],
  },
  certificateName: {
    value: certificateName(),
    help: "A name in client certificates, which stand for the new key.",
    commands: ["keys create"],
  },
  offline: {
    value: boolean(),
    default: "false",
    help: "Create the new key without a database: print it and its entry for AUTHWIRE_API_KEYS.",
    commands: ["keys create"],
  },
  now: {
    value: boolean(),
    default: "false",
    help: "Let the new key sign at once, and delete all others, because one was stolen. Verifiers may reject assertions for some minutes.",
    commands: ["keys rotate-signing"],
  },
  from: {
    value: choice(importSources, "ADAPTER"),
    help: "The kind of the source: the database of an Auth.js adapter, another Authwire database, or files of JSON lines.",
    commands: ["import", "doctor"],
  },
  url: {
    variable: "AUTHWIRE_SOURCE_URL",
    // A variable that was set for an import does not disturb a later command without --from.
    when: ({ from }) => from !== undefined,
    value: text("URL"),
    help: "The source database, which is read and never written: mysql://USER:PASSWORD@HOST:PORT/DATABASE, mariadb://…, postgresql://…, sqlite:FILE or file:FILE. For jsonl: a file of authwire export, or a folder of mongoexport.",
    commands: ["import", "doctor"],
  },
  mapping: {
    value: text("FILE"),
    help: "A JSON file with other names of tables and columns: see docs/moving.md.",
    commands: ["import", "doctor"],
  },
  apply: {
    value: boolean(),
    default: "false",
    help: "Write the data. Without it the import is a dry run.",
    commands: ["import"],
  },
  skip: {
    value: boolean(),
    default: "false",
    help: "Skip rows with errors, and write the others. Without it one error stops the import before it writes.",
    commands: ["import"],
  },
  delete: {
    value: boolean(),
    default: "false",
    help: "Also delete rows of the tenant that the source database does not have. As long as Authwire is not in use.",
    commands: ["import"],
  },
  deleteAll: {
    value: tenant(),
    help: "The name of the tenant, so that --delete may delete more than a tenth of the rows of a table, and for a view or a replica. Expired rows are not counted.",
    commands: ["import"],
  },
  report: {
    value: text("FILE"),
    help: "The file for all rows with findings, as JSON lines.",
    commands: ["import", "doctor"],
  },
  adapterUrl: {
    flag: false,
    variable: "AUTHWIRE_URL",
    value: text("URL"),
    help: "The `url` of an application's AuthwireAdapter. The command checks whether a service answers there.",
    commands: ["doctor"],
  },
  adapterApiKey: {
    flag: false,
    variable: "AUTHWIRE_API_KEY",
    value: text("KEY"),
    help: "The `apiKey` of an application's AuthwireAdapter. The command asks the service at AUTHWIRE_URL what it may do.",
    commands: ["doctor"],
  },
  withSecrets: {
    value: boolean(),
    default: "false",
    help: "Also print the tokens and further fields of accounts and the private properties of users, unencrypted.",
    commands: ["export"],
  },
  since: {
    value: duration("1s", "30d"),
    default: "0",
    help: "Begin with the events of this past period. 0: only events from now on.",
    commands: ["events tail"],
  },
  after: {
    value: integer(0, Number.MAX_SAFE_INTEGER),
    help: "Begin after the event with this number, which each line shows. Overrides --since.",
    commands: ["events tail"],
  },
  kinds: {
    value: eventKindList(),
    help: "Print only events of these kinds, separated by commas.",
    commands: ["events tail"],
  },
  json: {
    value: boolean(),
    default: "false",
    help: "Print each event as a line of JSON.",
    helpOf: {
      "keys list": "Print JSON, one object per line, with all scopes.",
      users: "Print JSON, one object per line.",
      sessions: "Print JSON, one object per line.",
      audit: "Print JSON, one object per line.",
      webhooks: "Print JSON, one object per line.",
    },
    commands: ["keys list", "events tail", "users", "sessions", "policy", "audit", "webhooks"],
  },
} as const satisfies Record<string, OptionDefinition>
