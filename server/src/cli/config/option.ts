import type { z } from "zod"

/** What `authwire` can be told to do. */
export type Command =
  | "serve"
  | `migrate ${"up" | "down" | "status"}`
  | "rekey"
  | "import"
  | "export"
  | "doctor"
  | `keys ${"create" | "list" | "revoke"}`
  | `tenants ${"create" | "list"}`

/** Commands that begin with the same word. */
export type Group = "migrate" | "keys" | "tenants"

/** One option: the source of parsing, checking, `--help` and docs/configuration.md. */
export interface Option {
  /** The flag, without dashes. Secrets have none: they never stand on a command line. */
  flag?: string
  /** The environment variable; a flag wins over it. */
  variable?: string
  /** Reads the text that was given, or says which rule it breaks; see values.ts. */
  value: z.ZodType<unknown, string>
  /** As one would write it on the command line. Without one the option is undefined when nobody gives it. */
  default?: string
  /** The default with `--dev`, where it differs. */
  devDefault?: string
  /** Whether it must be given, for what has no default. */
  isRequired?: true
  help: string
  /** Those that have the option. One of a group is one of all its commands. */
  commands: readonly (Command | Group)[]
}
