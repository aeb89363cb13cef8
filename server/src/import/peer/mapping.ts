import { isUtf8 } from "node:buffer"
import { z } from "zod"
import { InvalidValueError } from "../../errors/invalid-value-error.js"
import { StartError } from "../../errors/start-error.js"
import { type BulkName, bulkNames } from "../../store/sql/index.js"
import { readGivenFile } from "../../util/given-file.js"
import { utf8 } from "../../util/utf8.js"
import { fields } from "./layouts.js"

const name = z.string().min(1, "must not be empty")

/** What an import does with columns, and with accounts of types, that the contract does not define: the words of the mapping file. */
export const decisions = ["keep", "private", "ignore"] as const

export type Decision = (typeof decisions)[number]

/** Where the value of a property comes from: a column, or one whose values are converted. */
const columnForm = z.union(
  [
    name,
    z.strictObject({
      column: name,
      /** For a date that is stored as a flag, the date for true: `now`, one of ISO 8601, or another column's name. */
      whenTrue: name.optional(),
      /** How the values are stored: the 16 bytes of a UUID, or a time in another unit than seconds. */
      as: z.enum(["uuid", "milliseconds"]).optional(),
      /** What happens to a value that Authwire rejects. Without it, its row is not imported. */
      whenInvalid: z.literal("omit").optional(),
      /** For types of accounts: the type that stands for another one, or what becomes of its accounts. */
      values: z.record(name, z.union([z.enum(decisions), z.strictObject({ constant: name })])).optional(),
    }),
    z.strictObject({ constant: z.string() }),
  ],
  "must be the name of a column, or an object with column and whenTrue, whenInvalid or as, or with constant",
)

/** A row is nothing without its required properties, and a user whose address was left out would be another user. */
function formOf(table: BulkName, field: string) {
  // When a user was created. The column is a further property too, under its own name.
  if (field === "created")
    return columnForm.refine((mapped) => typeof mapped === "string", "must be the name of a column")
  const form = columnForm.refine(
    (mapped) => typeof mapped === "string" || !("values" in mapped) || (table === "accounts" && field === "type"),
    "cannot have values: only the type of accounts can",
  )
  if (fields[table][field] === "optional" && field !== "email") return form
  return form.refine(
    (mapped) => typeof mapped === "string" || !("whenInvalid" in mapped),
    "cannot have whenInvalid: it is required, or an address",
  )
}

/** For each table, names of its columns. */
const columnLists = z
  .strictObject(Object.fromEntries(bulkNames.map((table) => [table, z.array(name).optional()])))
  .default({})

/** Names that differ from those in the adapter's documentation. */
const mappingForm = z.strictObject({
  /** The name of each table; null if the application has none. */
  tables: z
    .strictObject(
      Object.fromEntries(
        bulkNames.map((table) => [table, table === "users" ? name.optional() : name.nullable().optional()]),
      ),
    )
    .default({}),
  /** For each table, the columns of the properties of the contract. The keys are the names of the properties. */
  columns: z
    .strictObject(
      Object.fromEntries(
        bulkNames.map((table) => [
          table,
          z
            .strictObject(
              Object.fromEntries(
                [...Object.keys(fields[table]), ...(table === "users" ? ["created"] : [])].map((field) => [
                  field,
                  formOf(table, field).optional(),
                ]),
              ),
            )
            .optional(),
        ]),
      ),
    )
    .default({}),
  /** The columns that are stored in `extra`, whatever their names look like. */
  keep: columnLists,
  /** The columns whose values only PrivateExtraService.GetPrivateExtra returns. */
  private: z.strictObject({ users: z.array(name).optional() }).default({}),
  /** The columns that are not imported. */
  ignore: columnLists,
  /** The time zone of dates that are stored without one. */
  timezone: z
    .string()
    .regex(/^([+-]\d\d:\d\d|Z)$/, "must be an offset, such as +02:00")
    .default("Z"),
})

export type Mapping = z.output<typeof mappingForm>

/** The mapping that applies without a file. */
export const noMapping: Mapping = mappingForm.parse({})

/** Reads a mapping file. Throws StartError with the path inside the file and the rule that is violated. */
export function readMapping(file: string): Mapping {
  let json: unknown
  try {
    const bytes = readGivenFile(file)
    if (!isUtf8(bytes)) throw new InvalidValueError(`${file} must be in UTF-8`)
    json = JSON.parse(utf8.decode(bytes))
  } catch (error) {
    if (error instanceof InvalidValueError) throw new StartError(`--mapping: ${error.message}`)
    const code = error instanceof Error && "code" in error ? String(error.code) : "it is not JSON"
    throw new StartError(`--mapping: cannot read ${file} (${code})`, { cause: error })
  }
  const { data, error } = mappingForm.safeParse(json)
  if (data !== undefined) return data
  const [issue] = error.issues
  throw new StartError(`--mapping: ${[...(issue?.path ?? [])].join(".") || "the file"}: ${issue?.message}`)
}

/**
 * Without a word in the mapping, what happens to a column whose name looks like a secret. The `extra` of accounts is
 * encrypted, and returned only with the provider's tokens. Sessions and authenticators have no private properties.
 */
const ofSecrets: Readonly<Record<BulkName, Decision>> = {
  users: "private",
  accounts: "keep",
  sessions: "ignore",
  verificationTokens: "ignore",
  authenticators: "ignore",
}

/** Names of secrets, as a part of a name that is in lower case and without separators. */
const secretParts =
  /passw|passphrase|passcode|passkey|pwd|hash|bcrypt|scrypt|argon2|mnemonic|seedphrase|salt|secret|token|totp|twofactor|credential|recovery|socialsecurity|(backup|verification|reset|security|activation|confirmation|login|access)(code|answer)|(api|private|master|encryption|signing|access)key/

/** Short names of secrets, as a word, or where a word may begin or end in a name whose words cannot be told apart. */
const secretWords = /^(pass|pw|pin)$|^(otp|mfa|2fa|ssn)|(otp|mfa|2fa|ssn|pin)$/

/** Whether the name of a column looks like that of a secret. A wrong yes is noticed; a wrong no may publish a secret. */
export function looksSecret(name: string): boolean {
  const words = name.replaceAll(/([a-z\d])([A-Z])/g, "$1 $2").toLowerCase()
  const plain = words.replaceAll(/[^a-z\d]/g, "")
  return secretParts.test(plain) || words.split(/[^a-z\d]+/).some((word) => secretWords.test(word))
}

/** Returns the words of the mapping for columns of a table. Throws StartError if a column has two. */
export function wordsOf(table: BulkName, mapping: Mapping): ReadonlyMap<string, Decision> {
  const words = new Map<string, Decision>()
  for (const decision of decisions) {
    const lists: Partial<Record<BulkName, string[] | undefined>> = mapping[decision]
    for (const column of lists[table] ?? []) {
      const other = words.get(column)
      if (other !== undefined && other !== decision)
        throw new StartError(`--mapping: ${decision}.${table}: ${column} is in ${other} too`)
      words.set(column, decision)
    }
  }
  return words
}

/** Returns what happens to a column for which the mapping has no word. */
export function defaultFor(table: BulkName, column: string): Decision {
  if (table === "verificationTokens") return "ignore"
  return looksSecret(column) ? ofSecrets[table] : "keep"
}
