import { origins } from "../../import/origins.js"
import type { Option } from "./option.js"
import { boolean, choice, text } from "./values.js"

/** The options of `authwire import`, `authwire export` and `authwire doctor`. */
export const importOptions = {
  from: {
    flag: "from",
    value: choice(origins, "ADAPTER"),
    help: "Whose tables are read: those of an adapter of Auth.js, or of another database of Authwire.",
    commands: ["import", "doctor"],
  },
  url: {
    flag: "url",
    variable: "AUTHWIRE_SOURCE_URL",
    value: text("URL"),
    help: "The database that is read, and never written: mysql://USER:PASSWORD@HOST:PORT/DATABASE, mariadb://…, postgresql://…, sqlite:FILE or file:FILE.",
    commands: ["import", "doctor"],
  },
  mapping: {
    flag: "mapping",
    value: text("FILE"),
    help: "Names of tables and columns that differ from those of the adapter's documentation, as JSON: see docs/moving.md.",
    commands: ["import", "doctor"],
  },
  apply: {
    flag: "apply",
    value: boolean(),
    default: "false",
    help: "Write. Without it the import is a dry run: it reads everything, reports, and changes nothing.",
    commands: ["import"],
  },
  dryRun: {
    flag: "dry-run",
    value: boolean(),
    default: "false",
    help: "Change nothing, which is also so without it; for scripts that say what they mean.",
    commands: ["import"],
  },
  skip: {
    flag: "skip",
    value: boolean(),
    default: "false",
    help: "Leave out rows with errors, and write the others. Without it one error stops the import before it writes.",
    commands: ["import"],
  },
  delete: {
    flag: "delete",
    value: boolean(),
    default: "false",
    help: "Also delete what the tenant has and the database that is read has not: for the runs after the first, as long as nobody uses Authwire.",
    commands: ["import"],
  },
  report: {
    flag: "report",
    value: text("FILE"),
    help: "Where every row that something was found about is written, as one JSON object a line.",
    commands: ["import", "doctor"],
  },
  checkpoint: {
    flag: "checkpoint",
    value: text("FILE"),
    help: "Where a run with --apply notes, in digests, what it has copied and compared. The next run with the same file only copies what has changed since; needs MySQL or MariaDB as the database that is written.",
    commands: ["import"],
  },
  adapterUrl: {
    variable: "AUTHWIRE_URL",
    value: text("URL"),
    help: "The option `url` that an application gives to AuthwireAdapter: the running service is asked whether that is right.",
    commands: ["doctor"],
  },
  adapterApiKey: {
    variable: "AUTHWIRE_API_KEY",
    value: text("KEY"),
    help: "The option `apiKey` that an application gives to AuthwireAdapter: the service of AUTHWIRE_URL is asked what it may do.",
    commands: ["doctor"],
  },
  withSecrets: {
    flag: "with-secrets",
    value: boolean(),
    default: "false",
    help: "Also print the tokens and further fields of accounts, in the clear.",
    commands: ["export"],
  },
} as const satisfies Record<string, Option>
