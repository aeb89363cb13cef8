import type { z } from "zod"

/** The commands of `authwire`. */
export type Command =
  | "serve"
  | `migrate ${"up" | "down" | "status" | "vschema"}`
  | "rekey"
  | "cleanup"
  | "import"
  | "export"
  | "doctor"
  | `keys ${"create" | "list" | "revoke" | "rotate-signing"}`
  | `tenants ${"create" | "list" | "delete"}`
  | "events tail"
  | `users ${"create" | "list" | "find" | "show" | "set" | "disable" | "enable" | "export" | "delete"}`
  | "audit"
  | "console"
  | `sessions ${"list" | "revoke" | "revoke-all"}`
  | `policy ${"show" | "set"}`
  | `webhooks ${"create" | "list" | "update" | "delete" | "rotate-secret" | "test" | "deliveries" | "redeliver"}`

/** Groups of commands, by their common first word. */
export type Group = "migrate" | "keys" | "tenants" | "events" | "users" | "sessions" | "policy" | "webhooks"

/** The definition of one option, from which parsing, validation, `--help` and docs/configuration.md are derived. */
export interface OptionDefinition {
  /**
   * False if the option has no flag: secrets must not appear on a command line, and variables that all programs share
   * have none either. Default: the name with dashes, such as `grpc-addr`.
   */
  flag?: false | string
  /**
   * The environment variable; false if there is none. Default: the name in capitals, such as AUTHWIRE_GRPC_ADDR, if
   * `serve` has the option, otherwise none.
   */
  variable?: string | false
  /** Whether the value may also be in a file, which the variable with `_FILE` at its end names: for secrets. */
  orFile?: true
  /** Parses the given text, or reports the violated rule; see values.ts. */
  value: z.ZodType<unknown, string>
  /** The default, as written on the command line. Without one the option is undefined if it is not given. */
  default?: string
  /** The default with `--dev`, if it differs. */
  devDefault?: string
  /** Whether the option must be given. Only for options without a default. */
  isRequired?: true
  /** Whether the variable is used, decided by the options before this one. Default: always. */
  when?: (before: Readonly<Record<string, unknown>>) => boolean
  help: string
  /** The help of commands, or of groups of commands, for which the option means something of its own. */
  helpOf?: Readonly<Partial<Record<Command | Group, string>>>
  /** Whether `serve --help` shows the option. `serve --help all` shows the others too. */
  isCommon?: true
  /** The commands that have the option. A group stands for all of its commands. Default: `serve` only. */
  commands?: readonly (Command | Group)[]
}

/** An option with its names. A flag, given without its dashes, overrides the variable. */
export interface Option extends Omit<OptionDefinition, "flag" | "variable" | "commands"> {
  flag: string | undefined
  variable: string | undefined
  commands: readonly (Command | Group)[]
}
