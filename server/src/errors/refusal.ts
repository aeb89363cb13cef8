import { isNativeError } from "node:util/types"
import { type Refusal, refusals } from "./database-refusals.js"
import { quotesValues, withheld } from "./quoted-values.js"
import { sqliteCodeOf } from "./sqlite-code.js"
import { StoreError } from "./store-error.js"

/** The longest message that is repeated, in characters. */
const longest = 500

export interface RefusalOptions {
  /** What to do if the table does not say it. */
  otherwise?: string | undefined
  /** Whether the message is repeated. Default true. */
  quotes?: boolean | undefined
  /** The option that names the database. Default `--database-url`. */
  option?: string | undefined
}

/**
 * Describes an error of a database in one line: what it means, the message and the code, and what to do. Of a StoreError, its
 * cause. Contains no value of a row.
 */
export function refusalOf(error: unknown, { otherwise, quotes = true, option }: RefusalOptions = {}): string {
  const { code = "", message } = told(error)
  const { says, remedy = otherwise } = meaningOf(code, message) ?? {}
  const words = quotes ? message : ""
  const what = says ?? (words || "it failed")
  const details = [what === words ? "" : words, words.includes(code) ? "" : code].filter((one) => one !== "")
  const text = `${what}${details.length > 0 ? ` (${details.join(", ")})` : ""}${remedy === undefined ? "" : `: ${remedy}`}`
  return option === undefined ? text : text.replaceAll("--database-url", option)
}

/** Returns the same of an error that an engine of the store has thrown, or of a StoreError of one; undefined of any other. */
export function refusalOfStore(error: unknown): string | undefined {
  const root = rootOf(error)
  return isNativeError(root) && root.name === "StatementError" ? refusalOf(root) : undefined
}

/** Returns what an error of SQLite about its file means; undefined for any other error. */
export function fileProblemOf(error: { code?: unknown; errcode?: unknown }): string | undefined {
  const code = sqliteCodeOf(error)
  return code?.startsWith("SQLITE_") ? meaningOf(code, "")?.says : undefined
}

function meaningOf(code: string, message: string): Refusal | undefined {
  return refusals.find(({ error }) => error.test(`${code} ${message}`))
}

function rootOf(error: unknown): unknown {
  let cause = error
  while (cause instanceof StoreError && cause.cause !== undefined) cause = cause.cause
  return cause
}

/** Returns the first line of the message of an error's root, and its code. */
function told(error: unknown): { code: string | undefined; message: string } {
  const cause = rootOf(error)
  if (!isNativeError(cause)) return { code: undefined, message: String(cause) }
  const { errno, ...codes } = cause as { errno?: unknown; code?: unknown; errcode?: unknown }
  const code = sqliteCodeOf(codes) ?? (errno === undefined ? undefined : String(errno))
  const message = quotesValues(cause) ? withheld : (cause.message.split("\n", 1)[0] ?? "")
  return { code, message: message.slice(0, longest).replace(/\.$/, "") }
}
