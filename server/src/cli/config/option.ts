import type { z } from "zod"

/** What `authwire` can be told to do. */
export type Command =
  | "serve"
  | `migrate ${"up" | "down" | "status"}`
  | "rekey"
  | "cleanup"
  | "import"
  | "export"
  | "doctor"
  | `keys ${"create" | "list" | "revoke"}`
  | `tenants ${"create" | "list"}`
  | "events tail"

/** Commands that begin with the same word. */
export type Group = "migrate" | "keys" | "tenants" | "events"

/** One option: the source of parsing, checking, `--help` and docs/configuration.md. */
export interface Option {
  /** The flag, without dashes. Secrets have none, since they never stand on a command line, nor what all programs share. */
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
  /** Whether what is given counts, by the options before it; where it does not, the default holds. Default: always. */
  when?: (before: Readonly<Record<string, unknown>>) => boolean
  help: string
  /** Those that have the option. One of a group is one of all its commands. */
  commands: readonly (Command | Group)[]
}
