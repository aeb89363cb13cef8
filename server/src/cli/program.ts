import { Command as CommanderCommand, CommanderError, Option as CommanderOption } from "commander"
import { checkText, type Flags, readConfiguration } from "../config/configuration.js"
import type { Command, Group } from "../config/option.js"
import { optionsOf } from "../config/options.js"
import { shown } from "../config/values.js"
import { ConfigurationError } from "../errors/configuration-error.js"
import type { CommandOutput, Work } from "./commands/output.js"
import { describe, helpConfiguration, pathOf } from "./help.js"

/**
 * Runs the command that the arguments name.
 *
 * @returns The exit code. Throws ConfigurationError and StartError.
 */
export async function runProgram(given: readonly string[], { environment, version, output }: Program): Promise<number> {
  let exitCode: number | undefined
  const wantsAll = given.at(-1) === "all" && given.at(-2) === "--help"
  const args = wantsAll ? given.slice(0, -1) : given
  const program = group(
    new CommanderCommand("authwire")
      .description("A gRPC identity data service for Auth.js.")
      .version(`authwire ${version}`, "-v, --version")
      .helpCommand(true)
      .addHelpText("after", examples)
      .configureOutput({ writeOut: (text) => void output.print(text), outputError() {} })
      .configureHelp(helpConfiguration),
  )
  const addGroup = (name: Group, description: string) => void group(program.command(name).description(description))
  const add = <C extends Command, Name extends string>(
    path: C,
    description: string,
    load: () => Promise<Record<Name, Work<C>>>,
    name: Name,
    argument = "",
  ) => {
    const [first, second = first] = path.split(" ")
    const parent = program.commands.find((one) => one.name() === first) ?? program
    const command = parent.command(`${second} ${argument}`.trim()).description(description).allowExcessArguments(false)
    addOptions(command)
    if (path === "serve" && !wantsAll) showCommonOptions(command)
    throwConfigurationErrors(command)
    command.action(async () => {
      checkText(command.args[0], `${path} ${argument}`)
      const configuration = await readConfiguration(path, flagsOf(command), environment)
      const { [name]: work } = await load()
      exitCode = await work(configuration, output, command.args[0] ?? "")
    })
  }

  // Each command is loaded only when it runs, because most of a command's time is spent on loading modules.
  add("serve", "Serve until SIGTERM or SIGINT.", () => import("./commands/serve.js"), "serve")
  addGroup("migrate", "Migrate the database (up, down), list its migrations (status), or write its vschemas.")
  const migrate = () => import("./commands/migrate.js")
  add("migrate up", "Apply the pending migrations.", migrate, "up")
  add("migrate down", "Revert the last migration.", migrate, "down")
  add("migrate status", "List the applied and the pending migrations.", migrate, "status")
  add(
    "migrate vschema",
    "Write the vschemas of a sharded keyspace of Vitess, before its migration.",
    () => import("./commands/vschema.js"),
    "writeVschemas",
  )
  add(
    "rekey",
    "Encrypt the stored tokens of all accounts with the first encryption key.",
    () => import("./commands/rekey.js"),
    "rekey",
  )
  add(
    "cleanup",
    "Delete expired sessions and verification tokens now, as replicas do in the background.",
    () => import("./commands/cleanup.js"),
    "cleanup",
  )
  add(
    "import",
    "Import the data of an Auth.js adapter or of another Authwire database; a dry run without --apply.",
    () => import("./commands/import.js"),
    "importPeer",
  )
  add("export", "Print all data of a tenant, as JSON lines.", () => import("./commands/export.js"), "exportTenant")
  add(
    "doctor",
    "Check an installation, or an adapter's database, for problems.",
    () => import("./commands/doctor.js"),
    "doctor",
  )
  const keys = () => import("./commands/keys.js")
  addGroup("keys", "Create, list or revoke API keys, or change the key that signs identities.")
  add("keys create", "Create an API key. It is printed only once.", keys, "createKey")
  add("keys list", "List the API keys.", keys, "listKeys")
  add("keys revoke", "Revoke an API key.", keys, "revokeKey", "<ID>")
  add(
    "keys rotate-signing",
    "Make the next key that signs identities for gateways. It signs 20 minutes later, when every verifier knows it.",
    () => import("./commands/signing-keys.js"),
    "rotateSigning",
  )
  const tenants = () => import("./commands/tenants.js")
  addGroup("tenants", "Create, list or delete tenants.")
  add("tenants create", "Create a tenant.", tenants, "createTenant", "<NAME>")
  add("tenants list", "List the tenants.", tenants, "listTenants")
  add(
    "tenants delete",
    "Delete a tenant, its keys and all its data. It can be run again if it ended early.",
    tenants,
    "deleteTenant",
    "<NAME>",
  )
  addGroup("events", "Print events as they are committed (tail).")
  add(
    "events tail",
    "Print an event for each write when it is committed, until SIGINT.",
    () => import("./commands/events.js"),
    "tailEvents",
  )

  addGroup("users", "Create, list, find, show, change, disable, enable, export or delete users of a running service.")
  const users = () => import("./administration/users.js")
  add("users create", "Create a user.", users, "createUser")
  add("users list", "List the users.", users, "listUsers")
  add("users find", "Find users by the beginning of their e-mail address or name.", users, "findUsers", "<TEXT>")
  add("users show", "Show a user and its accounts.", users, "showUser", "<ID>")
  add("users set", "Change what is given of a user.", users, "setUser", "<ID>")
  add(
    "users disable",
    "Disable a user, who is then signed out everywhere and cannot sign in.",
    users,
    "disableUser",
    "<ID>",
  )
  add("users enable", "Enable a user that is disabled.", users, "enableUser", "<ID>")
  add("users delete", "Delete a user and all its data.", users, "deleteUser", "<ID>")
  add("users export", "Print all data of a user, as JSON.", users, "exportUser", "<ID>")
  addGroup("sessions", "List or revoke sessions of a running service.")
  const sessions = () => import("./administration/sessions.js")
  add("sessions list", "List the sessions of a user.", sessions, "listSessions")
  add("sessions revoke", "Revoke a session.", sessions, "revokeSession", "<ID>")
  add("sessions revoke-all", "Revoke all sessions of a user, or of everybody.", sessions, "revokeSessions")
  addGroup("policy", "Show or change the session policy of a running service.")
  const policy = () => import("./administration/policy.js")
  add("policy show", "Show the session policy.", policy, "showPolicy")
  add("policy set", "Change the given rules of the session policy.", policy, "setPolicy")
  addGroup("webhooks", "Create, list, change, test or delete webhooks of a running service, and see their deliveries.")
  const webhooks = () => import("./administration/webhooks.js")
  add("webhooks create", "Create a webhook. Its secret is printed only once.", webhooks, "createWebhook")
  add("webhooks list", "List the webhooks.", webhooks, "listWebhooks")
  add("webhooks update", "Change what is given of a webhook.", webhooks, "updateWebhook", "<ID>")
  add("webhooks delete", "Delete a webhook and what it has not delivered.", webhooks, "deleteWebhook", "<ID>")
  add(
    "webhooks rotate-secret",
    "Give a webhook a new secret. It is printed only once.",
    webhooks,
    "rotateSecret",
    "<ID>",
  )
  add("webhooks test", "Send a test and wait until it is accepted or not.", webhooks, "sendTest", "<ID>")
  add("webhooks deliveries", "List the deliveries of a webhook, the newest first.", webhooks, "listDeliveries", "<ID>")
  add("webhooks redeliver", "Send a delivery again.", webhooks, "redeliver", "<DELIVERY>")
  add(
    "audit",
    "List who has called which method that writes, the newest first.",
    () => import("./administration/audit.js"),
    "listAudit",
  )
  add(
    "console",
    "Serve a page for operators on 127.0.0.1, which shows users, sessions and events of a running service.",
    () => import("./commands/console.js"),
    "serveConsole",
  )

  try {
    await program.parseAsync([...args], { from: "user" })
  } catch (error) {
    // The help or the version was printed.
    if (!(error instanceof CommanderError)) throw error
  }
  return exitCode ?? 0
}

interface Program {
  environment: Readonly<Record<string, string | undefined>>
  version: string
  output: CommandOutput
}

const examples = `
The options of a command: authwire COMMAND --help

Try it:
  authwire serve --dev
  curl http://127.0.0.1:8080/readyz`

/** Returns the given flags by the names of their options. */
function flagsOf(command: CommanderCommand): Flags {
  const given = command.optsWithGlobals()
  const named = optionsOf(pathOf(command)).flatMap(([name, { flag }]) =>
    flag === undefined ? [] : [[name, given[new CommanderOption(`--${flag}`).attributeName()]]],
  )
  return Object.fromEntries(named)
}

/** Makes a command a group, which only lists its subcommands in an error. */
function group(command: CommanderCommand): CommanderCommand {
  addOptions(command)
  throwConfigurationErrors(command)
  return command
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw new ConfigurationError(`${mustBeOneOf(command)}; ${helpHint(command)}`)
    })
}

function mustBeOneOf(group: CommanderCommand): string {
  const names = group.commands.map((one) => [one.name(), ...one.registeredArguments.map((two) => two.name())].join(" "))
  const path = pathOf(group)
  if (path === "") return `the commands are ${new Intl.ListFormat("en-GB").format(names)}`
  return `${path}: must be one of ${names.join(", ")}`
}

/** Adds the options of a command that have a flag, except those that its group already has. */
function addOptions(command: CommanderCommand): void {
  const path = pathOf(command)
  for (const [, option] of optionsOf(path)) {
    const { flag, commands, value } = option
    if (flag === undefined || !commands.some((one) => one === path)) continue
    const placeholder = shown.get(value)?.placeholder
    const flags = placeholder === undefined ? `--${flag}` : `--${flag} <${placeholder}>`
    const commanderOption = new CommanderOption(flags, describe(option, path))
    if (placeholder !== undefined) {
      commanderOption.argParser((text) => {
        // The text is the next flag, so the value is missing.
        if (text.startsWith("--")) throw new ConfigurationError(`--${flag}: needs a value; ${helpHint(command)}`)
        return text
      })
    }
    command.addOption(commanderOption)
  }
}

/** Leaves out of the help what few people set. */
function showCommonOptions(command: CommanderCommand): void {
  const common = new Set(optionsOf(pathOf(command)).flatMap(([, { flag, isCommon }]) => (isCommon ? `--${flag}` : [])))
  for (const option of command.options) if (!common.has(option.long ?? "")) option.hideHelp()
  command.addHelpText("after", `\nAll options: authwire ${pathOf(command)} --help all`)
}

/** Makes a command throw ConfigurationError for errors that commander finds. */
function throwConfigurationErrors(command: CommanderCommand): void {
  command.exitOverride((error) => {
    throw error.exitCode === 0 ? error : new ConfigurationError(`${ruleOf(error, command)}; ${helpHint(command)}`)
  })
}

/** Returns the violated rule. commander's own message quotes the argument, which may contain a secret. */
function ruleOf({ code, message }: CommanderError, command: CommanderCommand): string {
  const flag = /'(--[\w-]+|-\w)/.exec(message)?.[1]
  if (code === "commander.optionMissingArgument") return `${flag}: needs a value`
  if (code !== "commander.unknownOption") {
    // Too many arguments, or too few.
    const { parent } = command
    return parent?.parent ? mustBeOneOf(parent) : `${pathOf(command)} takes options only`
  }
  const isKnown = [command, command.parent].some((one) => one?.options.some(({ long }) => long === flag))
  if (isKnown) return `${flag}: takes no value`
  const similar = /Did you mean (--[\w-]+)/.exec(message)?.[1]
  return `unknown option ${flag}${similar === undefined ? "" : ` (did you mean ${similar}?)`}`
}

function helpHint(command: CommanderCommand): string {
  return `see ${["authwire", pathOf(command), "--help"].filter((word) => word !== "").join(" ")}`
}
