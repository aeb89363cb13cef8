import type { z } from "zod"
import { administrationOptions, consoleOptions } from "./administration-options.js"
import { commandOptions } from "./command-options.js"
import { databaseOptions } from "./database-options.js"
import { listenerOptions } from "./listener-options.js"
import { observationOptions } from "./observation-options.js"
import type { Command, Option, OptionDefinition } from "./option.js"
import { secretOptions } from "./secret-options.js"
import { serviceOptions } from "./service-options.js"
import { boolean } from "./values.js"
import { webhookOptions } from "./webhook-options.js"

/**
 * The definitions of all options, by their names in Configuration, in the order of docs/configuration.md.
 *
 * To add an option, add an entry here or in the file of its kind. Its flag and its variable follow from the name.
 * Parsing, the type in Configuration, `--help` and docs/configuration.md (`make gen`) are derived from the entry. Its
 * valid values are defined by `value`, from values.ts. A rule that concerns several options belongs in rules.ts.
 */
const definitions = {
  dev: {
    isCommon: true,
    variable: false,
    value: boolean(),
    default: "false",
    help: "For development: an embedded database and a secret under ./.authwire/, with migrations applied automatically; loopback addresses and requests that name them only; calls without an API key are accepted.",
    commands: ["serve", "migrate", "rekey", "cleanup", "import", "export", "keys", "tenants", "events"],
  },
  ...databaseOptions,
  ...secretOptions,
  ...listenerOptions,
  ...serviceOptions,
  ...webhookOptions,
  ...observationOptions,
  ...commandOptions,
  ...administrationOptions,
  ...consoleOptions,
} as const satisfies Record<string, OptionDefinition>

/** The headings of docs/configuration.md, each with the names of its options. */
export const optionGroups = (
  [
    ["Development", { dev: definitions.dev }],
    ["Database", databaseOptions],
    ["Secrets and keys", secretOptions],
    ["Listeners", listenerOptions],
    ["Limits, cleanup and shutdown", serviceOptions],
    ["Webhooks", webhookOptions],
    ["Logs and traces", observationOptions],
    ["Commands", commandOptions],
    ["Administration", administrationOptions],
    ["Console", consoleOptions],
  ] as const
).map(([heading, group]) => ({ heading, names: Object.keys(group) as Name[] }))

/** All options with their flags and variables. */
export const options = Object.fromEntries(
  Object.entries<OptionDefinition>(definitions).map(([name, definition]) => [name, named(name, definition)]),
) as Readonly<Record<Name, Option>>

function named(name: string, definition: OptionDefinition): Option {
  const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const { commands = ["serve"] } = definition
  const inCapitals = commands.includes("serve") && `AUTHWIRE_${flag.replaceAll("-", "_").toUpperCase()}`
  const variable = (definition.variable ?? inCapitals) || undefined
  return { ...definition, commands, flag: definition.flag === false ? undefined : (definition.flag ?? flag), variable }
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

type CommandsOf<N extends Name> = (typeof definitions)[N] extends { commands: readonly (infer C extends string)[] }
  ? C
  : "serve"

/** Returns the options of a command, given by its words, including those of its group. */
export function optionsOf(command: string): [Name, Option][] {
  const all = Object.entries(options) as [Name, Option][]
  return all.filter(([, { commands }]) => commands.some((one) => one === command || command.startsWith(`${one} `)))
}
