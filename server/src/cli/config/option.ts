/** What `authwire` can be told to do. */
export type Command = "serve" | "migrate" | "rekey" | "keys" | "tenants"

/** One option: the source of parsing, checking, `--help` and docs/configuration.md. */
export interface Option {
  /** The flag, without dashes. Secrets have none: they never stand on a command line. */
  flag?: string
  /** The environment variable; a flag wins over it. */
  variable?: string
  type:
    | "boolean"
    | "integer"
    | "address"
    | "database-url"
    | "choice"
    | "secret"
    | "url"
    | "json"
    | "file"
    | "text"
    | "rates"
  /** What stands in for the value in the help. */
  placeholder?: string
  /** As one would write it on the command line. */
  default?: string
  /** The default with `--dev`, where it differs. */
  devDefault?: string
  choices?: readonly string[]
  min?: number
  max?: number
  help: string
  commands: readonly Command[]
}
