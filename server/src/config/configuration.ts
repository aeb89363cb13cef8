import { ConfigurationError } from "../errors/configuration-error.js"
import { InvalidValueError } from "../errors/invalid-value-error.js"
import { systemCodeOf } from "../errors/start-error.js"
import { doubtAbout, readSecretFile } from "../util/secret-text.js"
import { utf8Fault } from "../util/utf8.js"
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
  /** What may be wrong with the secrets that applications have too, each with its variable. No secret is quoted. */
  doubts: readonly string[]
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
    const { text, source } =
      (await findInFile(option, inherited)) ?? findText(option, flags[name], inherited, flags.dev === true)
    sources[name] = source
    if (text === undefined && option.isRequired !== true) continue
    checkText(text, source)
    const { data, error } = await option.value.safeParseAsync(text)
    if (error !== undefined) throw new ConfigurationError(`${source}: ${error.issues[0]?.message}`)
    values[name] = data
  }
  const parsed = values as Partial<Values>
  checkRules({ command, values: parsed, sourceOf: (name) => sources[name] ?? name })
  const derived: Derived = {
    databaseUrl: parsed.databaseUrl ?? "",
    doubts: doubtsAbout(parsed, sources),
    ...(optionsOf(command).some(([name]) => name === "authSecret")
      ? await tokenOptions(parsed, environment)
      : { secrets: [], secureCookie: false }),
  }
  return { ...values, ...derived } as Configuration<C>
}

async function tokenOptions(
  { authSecret, authSecret1, authSecret2, authSecret3 }: Partial<Values>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Pick<Derived, "secrets" | "secureCookie">> {
  const { secretsFromEnvironment, secureCookieFromEnvironment } = await import("@authwire/token")
  const [AUTH_SECRET, AUTH_SECRET_1, AUTH_SECRET_2, AUTH_SECRET_3] = [authSecret, authSecret1, authSecret2, authSecret3]
  return {
    secrets: secretsFromEnvironment({ AUTH_SECRET, AUTH_SECRET_1, AUTH_SECRET_2, AUTH_SECRET_3 }),
    secureCookie: secureCookieFromEnvironment(environment),
  }
}

/** The options that an application reads too, by itself. */
const shared = ["authSecret", "authSecret1", "authSecret2", "authSecret3", "adapterApiKey"] as const

function doubtsAbout(values: Partial<Values>, sources: Partial<Record<Name, string>>): string[] {
  return shared.flatMap((name) => {
    const doubt = doubtAbout(values[name] ?? "")
    return doubt === undefined ? [] : [`${sources[name]}: ${doubt}`]
  })
}

/** Throws ConfigurationError for a text that was not UTF-8. */
export function checkText(text: string | undefined, source: string): void {
  const fault = utf8Fault(text ?? "")
  if (fault !== undefined) throw new ConfigurationError(`${source}: ${fault}`)
}

/** Returns the secret in the file that a variable names, if there is one, and the variable. */
async function findInFile(
  { variable, orFile }: Option,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{ text: string; source: string } | undefined> {
  const source = `${variable}_FILE`
  const path = environment[source]
  if (orFile !== true || variable === undefined || !path) return undefined
  checkText(path, source)
  if (environment[variable]) throw new ConfigurationError(`${variable}, ${source}: only one of them may be set`)
  try {
    return { text: await readSecretFile(path), source }
  } catch (error) {
    // The path is not quoted, because it may be a misplaced secret.
    const problem = error instanceof InvalidValueError ? error.message : `cannot be read (${systemCodeOf(error)})`
    throw new ConfigurationError(`${source}: ${problem}`)
  }
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
