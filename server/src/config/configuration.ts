import { ConfigurationError } from "../errors/configuration-error.js"
import type { Command, Option } from "./option.js"
import { type Name, type NamesOf, optionsOf, type Values } from "./options.js"
import { checkRules } from "./rules.js"

/** The validated configuration of a command: its options by their names, and values derived from them. */
export type Configuration<C extends Command = "serve"> = Pick<Values, NamesOf<C>> & Derived

interface Derived {
  /** Empty if the command needs no database (keys create --offline). */
  databaseUrl: string
  /** The secrets, the newest first. Empty with --dev if none is given, and if the command does not use them. */
  secrets: readonly string[]
  /** Whether session cookies have the secure prefix. False if the command does not use it. */
  secureCookie: boolean
}

/** The flags of a command line as given, by the names of their options. */
export type Flags = Readonly<Partial<Record<Name, string | boolean>>>

/**
 * Reads the options of a command from its flags and the environment. A flag overrides its variable, and a variable
 * overrides the default. An empty variable counts as not set. Throws ConfigurationError.
 */
export async function readConfiguration<C extends Command>(
  command: C,
  flags: Flags,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Configuration<C>> {
  const values: Partial<Record<Name, unknown>> = {}
  const sources: Partial<Record<Name, string>> = {}
  for (const [name, option] of optionsOf(command)) {
    const inherited = option.when?.(values) === false ? {} : environment
    const { text, source } = findText(option, flags[name], inherited, flags.dev === true)
    sources[name] = source
    if (text === undefined && option.isRequired !== true) continue
    const { data, error } = await option.value.safeParseAsync(text)
    if (error !== undefined) throw new ConfigurationError(`${source}: ${error.issues[0]?.message}`)
    values[name] = data
  }
  const parsed = values as Partial<Values>
  checkRules({ command, values: parsed, sourceOf: (name) => sources[name] ?? name })
  const derived: Derived = {
    databaseUrl: parsed.databaseUrl ?? "",
    ...(optionsOf(command).some(([name]) => name === "authSecret")
      ? await tokenOptions(environment)
      : { secrets: [], secureCookie: false }),
  }
  return { ...values, ...derived } as Configuration<C>
}

async function tokenOptions(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Pick<Derived, "secrets" | "secureCookie">> {
  const { secretsFromEnvironment, secureCookieFromEnvironment } = await import("@authwire/token")
  return { secrets: secretsFromEnvironment(environment), secureCookie: secureCookieFromEnvironment(environment) }
}

/** Returns the text of an option, given or default, and its source. */
function findText(
  { flag, variable, default: preset, devDefault }: Option,
  given: string | boolean | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  dev: boolean,
): { text: string | undefined; source: string } {
  const inherited = variable === undefined ? undefined : environment[variable]
  if (given === undefined && variable !== undefined && inherited) return { text: inherited, source: variable }
  return {
    text: given === undefined ? ((dev ? devDefault : undefined) ?? preset) : String(given),
    source: flag === undefined ? (variable ?? "") : `--${flag}`,
  }
}
