import type { z } from "zod"
import { cleanupOptions } from "./cleanup-options.js"
import { databaseOptions } from "./database-options.js"
import { eventOptions } from "./event-options.js"
import { importOptions } from "./import-options.js"
import { keyOptions } from "./key-options.js"
import { limitOptions } from "./limit-options.js"
import { listenerOptions } from "./listener-options.js"
import { logOptions } from "./log-options.js"
import type { Command, Option, OptionDefinition } from "./option.js"
import { secretOptions } from "./secret-options.js"
import { traceOptions } from "./trace-options.js"
import { boolean, duration, integer } from "./values.js"

/**
 * The definitions of all options, by their names in Configuration, in the order of docs/configuration.md.
 *
 * To add an option, add an entry here or in the file of its kind. Its flag and its variable follow from the name.
 * Parsing, the type in Configuration, `--help` and docs/configuration.md (`make gen`) are derived from the entry. Its
 * valid values are defined by `value`, from values.ts. A rule that concerns several options belongs in rules.ts.
 */
const definitions = {
  dev: {
    variable: false,
    value: boolean(),
    default: "false",
    help: "For development: an embedded database and a secret under ./.authwire/, with migrations applied automatically; loopback addresses only; calls without an API key are accepted.",
    commands: ["serve", "migrate", "rekey", "cleanup", "import", "export", "keys", "tenants", "events"],
  },
  ...databaseOptions,
  ...secretOptions,
  ...listenerOptions,
  workers: {
    value: integer(1, 64),
    default: "1",
    help: "The number of processes that serve behind the same addresses, at best one per core. Each has its own connection pool: the database gets up to this many times --database-pool-size connections, and two more per worker. With SQLite only 1, because one process owns the file.",
    commands: ["serve"],
  },
  ...limitOptions,
  provisionalSignUp: {
    value: duration("1s", "1d"),
    default: "0",
    help: "How long after its creation a user of the adapter is replaced by the next sign-up with the same address, if it has nothing else: no account, session, passkey, verified address or later change. 15m is a good value. Without this option, a person whose sign-up was interrupted before the account was linked cannot sign up again. With it, applications must create their own users with the typed client, and not with the adapter. Must be the same on all replicas. 0: no user is replaced.",
    commands: ["serve"],
  },
  ...cleanupOptions,
  drainDelayMs: {
    value: integer(0, 3_600_000),
    default: "0",
    help: "How long the service continues to serve after SIGTERM, in milliseconds, while it reports that it is not ready, until load balancers send it no more traffic. Then --shutdown-grace-ms begins.",
    commands: ["serve"],
  },
  shutdownGraceMs: {
    value: integer(0, 3_600_000),
    default: "10000",
    help: "How long active calls may take to finish after SIGTERM and --drain-delay-ms, in milliseconds.",
    commands: ["serve"],
  },
  ...logOptions,
  ...traceOptions,
  ...keyOptions,
  ...importOptions,
  ...eventOptions,
} as const satisfies Record<string, OptionDefinition>

/** All options with their flags and variables. */
export const options = Object.fromEntries(
  Object.entries<OptionDefinition>(definitions).map(([name, definition]) => [name, named(name, definition)]),
) as Readonly<Record<Name, Option>>

function named(name: string, definition: OptionDefinition): Option {
  const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const variable = definition.variable ?? `AUTHWIRE_${flag.replaceAll("-", "_").toUpperCase()}`
  return { ...definition, flag: definition.flag === false ? undefined : flag, variable: variable || undefined }
}

/** The name of an option in Configuration. */
export type Name = keyof typeof definitions

/** The types of the parsed options. */
export type Values = { [N in Name]: ValueOf<(typeof definitions)[N]> }

type ValueOf<O extends OptionDefinition> =
  | z.output<O["value"]>
  | (O extends { default: string } | { isRequired: true } ? never : undefined)

/** The names of the options of a command. */
export type NamesOf<C extends Command> = {
  [N in Name]: C extends CommandsOf<N> | `${CommandsOf<N>} ${string}` ? N : never
}[Name]

type CommandsOf<N extends Name> = (typeof definitions)[N]["commands"][number]

/** Returns the options of a command, given by its words, including those of its group. */
export function optionsOf(command: string): [Name, Option][] {
  const all = Object.entries(options) as [Name, Option][]
  return all.filter(([, { commands }]) => commands.some((one) => one === command || command.startsWith(`${one} `)))
}
