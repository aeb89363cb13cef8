import type { z } from "zod"
import { databaseOptions } from "./database-options.js"
import { importOptions } from "./import-options.js"
import { keyOptions } from "./key-options.js"
import { limitOptions } from "./limit-options.js"
import { listenerOptions } from "./listener-options.js"
import { logOptions } from "./log-options.js"
import type { Command, Option } from "./option.js"
import { secretOptions } from "./secret-options.js"
import { boolean, integer } from "./values.js"

/**
 * Every option there is, by its name in Configuration, in the order of docs/configuration.md.
 *
 * To add one, add its entry here or in the file of its kind: the name is that of the flag in camel case, and the variable
 * is AUTHWIRE_ and the flag in capitals. Parsing, its type in Configuration, `--help` and docs/configuration.md (`make gen`)
 * follow from the entry. What it may be is its `value`, of values.ts; a rule that concerns several options stands in
 * rules.ts.
 */
export const options = {
  dev: {
    flag: "dev",
    value: boolean(),
    default: "false",
    help: "For development: an embedded database and a secret under ./.authwire/, migrated by itself; loopback addresses only; calls without an API key are let in.",
    commands: ["serve", "migrate", "rekey", "import", "export", "keys", "tenants"],
  },
  ...databaseOptions,
  ...secretOptions,
  ...listenerOptions,
  workers: {
    flag: "workers",
    variable: "AUTHWIRE_WORKERS",
    value: integer(1, 64),
    default: "1",
    help: "Processes that serve behind the same addresses, at best one for each core. Each has a pool of its own: MySQL sees up to this many times --database-pool-size connections, and two more for each worker. With SQLite only 1: one process owns the file.",
    commands: ["serve"],
  },
  ...limitOptions,
  shutdownGraceMs: {
    flag: "shutdown-grace-ms",
    variable: "AUTHWIRE_SHUTDOWN_GRACE_MS",
    value: integer(0, 3_600_000),
    default: "10000",
    help: "How long active calls may take to finish after SIGTERM, in milliseconds.",
    commands: ["serve"],
  },
  ...logOptions,
  ...keyOptions,
  ...importOptions,
} as const satisfies Record<string, Option>

/** The name of an option in Configuration. */
export type Name = keyof typeof options

/** What the options are when they have been read. */
export type Values = { [N in Name]: ValueOf<(typeof options)[N]> }

type ValueOf<O extends Option> =
  | z.output<O["value"]>
  | (O extends { default: string } | { isRequired: true } ? never : undefined)

/** The names of the options of a command. */
export type NamesOf<C extends Command> = {
  [N in Name]: C extends CommandsOf<N> | `${CommandsOf<N>} ${string}` ? N : never
}[Name]

type CommandsOf<N extends Name> = (typeof options)[N]["commands"][number]

/** The options of a command, given by its words, and of its group. */
export function optionsOf(command: string): [Name, Option][] {
  const all = Object.entries(options) as [Name, Option][]
  return all.filter(([, { commands }]) => commands.some((one) => one === command || command.startsWith(`${one} `)))
}
