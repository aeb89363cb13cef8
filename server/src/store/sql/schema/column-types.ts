import type { EntitySchemaColumnOptions, ValueTransformer } from "typeorm"
import { isDeeperThan, maxJsonDepth } from "../../../util/json.js"
import { firstTime, lastTime } from "../../times.js"
import type { JsonValue } from "../../types.js"
import { jsonText } from "./extra.js"

/** The column types of the tables. `bytes` is the maximum length of a value in UTF-8, where the engine has a limit. */
export interface ColumnTypes {
  /** Text that is compared byte for byte. */
  key(bytes: number): EntitySchemaColumnOptions
  /** A binary value of exactly `bytes` bytes. */
  hash(bytes: number): EntitySchemaColumnOptions
  /** Short text. The limit is in Unicode characters. */
  string(characters: number): EntitySchemaColumnOptions
  /** Text up to 65,535 bytes. */
  text(): EntitySchemaColumnOptions
  /** Text up to 16 MiB. */
  longText(): EntitySchemaColumnOptions
  /**
   * JSON, stored as the text of JSON.stringify, because a column of type JSON changes numbers and the order of keys.
   *
   * @param isValid whether a parsed value has the form of the column.
   */
  json(isValid?: (value: unknown) => boolean): EntitySchemaColumnOptions
  /** A time in UTC with millisecond precision, years 1000 to 9999. */
  time(): EntitySchemaColumnOptions
  /**
   * A time like `time`: when the row was inserted. The service sets it. The default is for rows that others insert.
   */
  timeOfInsert(): EntitySchemaColumnOptions
  /** A time like `time` that the database sets: when the row was last changed. */
  timeOfChange(): EntitySchemaColumnOptions
  /**
   * 32 random hexadecimal digits. The service sets them. The default is for rows that others insert.
   */
  handle(): EntitySchemaColumnOptions
  /** A JavaScript number, except that -0 becomes 0. */
  double(): EntitySchemaColumnOptions
  /** An unsigned 32-bit integer. */
  uint32(): EntitySchemaColumnOptions
  boolean(): EntitySchemaColumnOptions
  /** An integer that JavaScript represents exactly. */
  whole(): EntitySchemaColumnOptions
}

/** Declares the tenant of a row, with which its key begins. Reads do not select it. */
export function tenantColumn({ key }: ColumnTypes) {
  return { name: "tenant", primary: true, select: false, ...key(63) } as const
}

const utf8 = {
  to: (text: string | null | undefined) => (text == null ? null : Buffer.from(text)),
  from: (bytes: Buffer | null) => bytes?.toString("utf8") ?? null,
}

/** The conversion of a column whose `from` throws for values that break a rule. */
export interface RuledTransformer extends ValueTransformer {
  readonly rule: string
}

/**
 * Checks what is read, because other programs may write to the tables, and an answer cannot carry everything that a database
 * stores, such as `infinity` as a time. SQLite stores any value in any column. `from` throws, which makes the row unreadable. Text
 * without a transformer is checked by the reader of rows.
 */
const checked = (
  rule: string,
  hasForm: (value: unknown) => boolean,
  converted = (value: unknown) => value,
): RuledTransformer => ({
  rule,
  to: (value: unknown) => value,
  from(cell: unknown) {
    if (cell === null || cell === undefined) return null
    const value = converted(cell)
    if (!hasForm(value)) throw new TypeError(rule)
    return value
  },
})

const [first, last] = [firstTime.getTime(), lastTime.getTime()]
const hasForm = {
  time: (value: unknown) => value instanceof Date && value.getTime() >= first && value.getTime() <= last,
  uint32: (value: unknown) => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32,
}

const bytes = { transformer: checked("must be bytes", Buffer.isBuffer) }
const time = { transformer: checked("must be a time of the years 1000 to 9999", hasForm.time) }
// A driver may return 64-bit integers as text.
const number = (cell: unknown) => (typeof cell === "string" ? Number(cell) : cell)
const uint32 = { transformer: checked("must be an integer from 0 to 4294967295", hasForm.uint32, number) }
const whole = { transformer: checked("must be an integer", Number.isSafeInteger, number) }

/** Returns the number as it is stored: 0 for -0. Only MySQL stores -0, and JSON.stringify writes it as 0. */
export function plainZero<Value extends number | null | undefined>(value: Value): Value | 0 {
  return value === 0 ? 0 : value
}

const double = {
  ...checked("must be a finite number", Number.isFinite, plainZero as (value: unknown) => unknown),
  to: plainZero<number | null>,
}

/** JSON that may have a number beyond the range of a double, or half of a character. No answer can carry either. */
const mayBeForeign = /\d[eE]\+?\d{3}|\d{200}|\\u[dD][89a-fA-F]/

/** Returns whether a text has enough brackets for JSON that is nested too deep. To find them takes less time than to look at each part. */
function mayBeDeep(text: string): boolean {
  if (text.length <= 2 * maxJsonDepth) return false
  let count = 0
  for (const bracket of ["{", "["])
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) count++
  return count > maxJsonDepth
}

function checkPart(name: string, value: unknown): unknown {
  const isText = typeof value === "string"
  if (!name.isWellFormed() || (isText && !value.isWellFormed()) || value === Infinity || value === -Infinity)
    throw new TypeError("the service writes no such JSON")
  return value
}

const jsonOf = (isValid: (value: unknown) => boolean = () => true): RuledTransformer => ({
  rule: `must be JSON of the form of the field, at most ${maxJsonDepth} levels deep, of finite numbers and well-formed Unicode`,
  to: (value: unknown) => (value === undefined ? null : jsonText(value as JsonValue)),
  from(text: string | null): unknown {
    if (text === null) return null
    const value = JSON.parse(text, mayBeForeign.test(text) ? checkPart : undefined)
    // Each item of a list is an object of its own in an answer.
    const isTooDeep = mayBeDeep(text) && isDeeperThan(value, maxJsonDepth + (Array.isArray(value) ? 1 : 0))
    if (isTooDeep || !isValid(value)) throw new TypeError("the JSON has another form")
    return value
  },
})

// Every collation of MySQL and MariaDB either treats some different texts as equal (case, accents, trailing spaces) or
// is missing on one of the two. So keys are binary, and other text has utf8mb4_bin, the one exact collation that both
// have.
const exact = { charset: "utf8mb4", collation: "utf8mb4_bin" }

// The default expressions of the migration in the form in which the databases report them, without the casts that
// PostgreSQL adds.
const serverHandle = "hex(random_bytes(16))"
const sqliteHandle = "hex(randomblob(16))"
const sqliteNow = "strftime('%Y-%m-%d %H:%M:%f', 'now')"
const postgresHandle = "upper(replace((gen_random_uuid()), '-', ''))"

const byDatabase = { insert: false, update: false } as const

/** Those of MySQL and MariaDB. */
export const serverTypes: ColumnTypes = {
  key: (bytes) => ({ type: "varbinary", length: bytes, transformer: utf8 }),
  hash: (length) => ({ type: "binary", length, ...bytes }),
  string: (characters) => ({ type: "varchar", length: characters, ...exact }),
  text: () => ({ type: "text", ...exact }),
  longText: () => ({ type: "mediumtext", ...exact }),
  json: (isValid) => ({ type: "mediumtext", transformer: jsonOf(isValid), ...exact }),
  time: () => ({ type: "datetime", precision: 3, ...time }),
  timeOfInsert: () => ({
    type: "datetime",
    precision: 3,
    update: false,
    default: () => "CURRENT_TIMESTAMP(3)",
    ...time,
  }),
  timeOfChange: () => ({
    ...{ type: "datetime", precision: 3, default: () => "CURRENT_TIMESTAMP(3)", onUpdate: "CURRENT_TIMESTAMP(3)" },
    ...byDatabase,
    ...time,
  }),
  handle: () => ({ type: "varbinary", length: 32, transformer: utf8, update: false, default: () => serverHandle }),
  double: () => ({ type: "double", transformer: double }),
  uint32: () => ({ type: "int", unsigned: true, ...uint32 }),
  boolean: () => ({ type: "boolean" }),
  whole: () => ({ type: "bigint", ...whole }),
}

export const sqliteTypes: ColumnTypes = {
  key: () => ({ type: "text" }),
  hash: () => ({ type: "blob", ...bytes }),
  string: () => ({ type: "text" }),
  text: () => ({ type: "text" }),
  longText: () => ({ type: "text" }),
  json: (isValid) => ({ type: "text", transformer: jsonOf(isValid) }),
  time: () => ({ type: "datetime", ...time }),
  timeOfInsert: () => ({ type: "datetime", update: false, default: () => sqliteNow, ...time }),
  timeOfChange: () => ({ type: "datetime", default: () => "'1000-01-01 00:00:00.000'", ...byDatabase, ...time }),
  handle: () => ({ type: "text", update: false, default: () => sqliteHandle }),
  double: () => ({ type: "double", transformer: double }),
  uint32: () => ({ type: "integer", ...uint32 }),
  boolean: () => ({ type: "boolean" }),
  whole: () => ({ type: "integer", ...whole }),
}

// PostgreSQL compares and sorts text byte for byte with this collation. Its text cannot contain U+0000, and neither may
// any string of the schema. Keys have no length limit here: the limit is in bytes, PostgreSQL counts characters, so a
// limit would cost time and protect nothing.
const ordered = { collation: "C" }

export const postgresTypes: ColumnTypes = {
  key: () => ({ type: "text", ...ordered }),
  hash: () => ({ type: "bytea", ...bytes }),
  string: (characters) => ({ type: "varchar", length: characters, ...ordered }),
  text: () => ({ type: "text", ...ordered }),
  longText: () => ({ type: "text", ...ordered }),
  json: (isValid) => ({ type: "text", transformer: jsonOf(isValid), ...ordered }),
  time: () => ({ type: "timestamptz", precision: 3, ...time }),
  timeOfInsert: () => ({ type: "timestamptz", precision: 3, update: false, default: () => "now()", ...time }),
  timeOfChange: () => ({ type: "timestamptz", precision: 3, default: () => "now()", ...byDatabase, ...time }),
  handle: () => ({ type: "text", ...ordered, update: false, default: () => postgresHandle }),
  double: () => ({ type: "float8", transformer: double }),
  uint32: () => ({ type: "int8", ...uint32 }),
  boolean: () => ({ type: "boolean" }),
  whole: () => ({ type: "int8", ...whole }),
}
