import type { OptionDefinition } from "./option.js"
import { origins } from "./origins.js"
import { boolean, choice, text } from "./values.js"

/** The options of `authwire import`, `authwire export` and `authwire doctor`. */
export const importOptions = {
  from: {
    variable: false,
    value: choice(origins, "ADAPTER"),
    help: "The kind of the source database: that of an Auth.js adapter, or another Authwire database.",
    commands: ["import", "doctor"],
  },
  url: {
    variable: "AUTHWIRE_SOURCE_URL",
    value: text("URL"),
    help: "The source database, which is read and never written: mysql://USER:PASSWORD@HOST:PORT/DATABASE, mariadb://…, postgresql://…, sqlite:FILE or file:FILE.",
    commands: ["import", "doctor"],
  },
  mapping: {
    variable: false,
    value: text("FILE"),
    help: "A JSON file with the names of tables and columns that differ from those in the adapter's documentation: see docs/moving.md.",
    commands: ["import", "doctor"],
  },
  apply: {
    variable: false,
    value: boolean(),
    default: "false",
    help: "Write the data. Without it the import is a dry run: it reads everything, reports, and changes nothing.",
    commands: ["import"],
  },
  dryRun: {
    variable: false,
    value: boolean(),
    default: "false",
    help: "Change nothing. This is already the default; the flag lets scripts state it explicitly.",
    commands: ["import"],
  },
  skip: {
    variable: false,
    value: boolean(),
    default: "false",
    help: "Skip rows with errors, and write the others. Without it one error stops the import before it writes.",
    commands: ["import"],
  },
  delete: {
    variable: false,
    value: boolean(),
    default: "false",
    help: "Also delete rows of the tenant that the source database does not have. For the runs after the first, as long as Authwire is not in use.",
    commands: ["import"],
  },
  report: {
    variable: false,
    value: text("FILE"),
    help: "The file to which every row with a finding is written, as one JSON object per line.",
    commands: ["import", "doctor"],
  },
  checkpoint: {
    variable: false,
    value: text("FILE"),
    help: "The file in which a run with --apply records, as digests, what it has copied and compared. The next run with the same file copies only what has changed since. Requires MySQL or MariaDB as the target database.",
    commands: ["import"],
  },
  adapterUrl: {
    flag: false,
    variable: "AUTHWIRE_URL",
    value: text("URL"),
    help: "The option `url` that an application gives to AuthwireAdapter. The command checks whether a running service answers there.",
    commands: ["doctor"],
  },
  adapterApiKey: {
    flag: false,
    variable: "AUTHWIRE_API_KEY",
    value: text("KEY"),
    help: "The option `apiKey` that an application gives to AuthwireAdapter. The command asks the service at AUTHWIRE_URL what this key is allowed to do.",
    commands: ["doctor"],
  },
  withSecrets: {
    variable: false,
    value: boolean(),
    default: "false",
    help: "Also print the tokens and further fields of accounts, unencrypted.",
    commands: ["export"],
  },
} as const satisfies Record<string, OptionDefinition>
