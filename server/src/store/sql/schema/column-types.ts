import type { EntitySchemaColumnOptions } from "typeorm"
import type { JsonValue } from "../../types.js"
import { jsonText } from "./extra.js"
import { plainZero } from "./plain-zero.js"

/** The databases that the store speaks with. A Group Replication cluster is `mysql`. */
export type Engine = "mysql" | "mariadb" | "sqlite" | "postgres"

/** What kinds of column there are. `bytes` are the most that a value may take as UTF-8, where the engine has a limit. */
export interface ColumnTypes {
  /** Text that is compared byte for byte. */
  key(bytes: number): EntitySchemaColumnOptions
  /** Exactly so many bytes. */
  hash(bytes: number): EntitySchemaColumnOptions
  /** Short text, in Unicode characters. */
  string(characters: number): EntitySchemaColumnOptions
  /** Text up to 65,535 bytes. */
  text(): EntitySchemaColumnOptions
  /** Text up to 16 MiB. */
  longText(): EntitySchemaColumnOptions
  /** JSON, kept as the text that JSON.stringify makes: a column of type JSON changes numbers and the order of keys. */
  json(): EntitySchemaColumnOptions
  /** A moment in UTC, to the millisecond, years 1000 to 9999. */
  time(): EntitySchemaColumnOptions
  /**
   * The same, of the moment when the row was inserted. The service says it; the default is for rows of a version that did
   * not know the column. It is that moment too, but on SQLite, which adds columns with constants only, 1970-01-01.
   */
  timeOfInsert(): EntitySchemaColumnOptions
  /**
   * 32 hexadecimal digits, random. The service says them; the default is for rows of a version that did not know the column.
   * SQLite has none, whose file only one version uses.
   */
  handle(): EntitySchemaColumnOptions
  /** A number as JavaScript has it, but that -0 becomes 0. */
  double(): EntitySchemaColumnOptions
  /** An unsigned integer of 32 bits. */
  uint32(): EntitySchemaColumnOptions
  boolean(): EntitySchemaColumnOptions
  /** A whole number that JavaScript has exactly. */
  whole(): EntitySchemaColumnOptions
}

const utf8 = {
  to: (text: string | null | undefined) => (text == null ? null : Buffer.from(text)),
  from: (bytes: Buffer | null) => bytes?.toString("utf8") ?? null,
}

/** A driver may give whole numbers of 64 bits as text. */
const number = {
  to: (value: number) => value,
  from: (text: string | number | null) => (text === null ? null : Number(text)),
}

const double = { to: plainZero<number | null>, from: plainZero<number | null> }

const json = {
  to: (value: unknown) => (value === undefined ? null : jsonText(value as JsonValue)),
  from: (text: string | null): unknown => (text === null ? null : JSON.parse(text)),
}

// Every collation of the servers folds something (case, accents, trailing spaces) or is missing on one of them: keys
// are binary, other text has the one collation that both have and that folds nothing.
const exact = { charset: "utf8mb4", collation: "utf8mb4_bin" }

// As the databases write what the migration says, without the casts that PostgreSQL adds.
const serverHandle = "hex(random_bytes(16))"
const postgresHandle = "upper(replace((gen_random_uuid()), '-', ''))"
const neverChanged = { nullable: true, update: false }

const serverTypes: ColumnTypes = {
  key: (bytes) => ({ type: "varbinary", length: bytes, transformer: utf8 }),
  hash: (bytes) => ({ type: "binary", length: bytes }),
  string: (characters) => ({ type: "varchar", length: characters, ...exact }),
  text: () => ({ type: "text", ...exact }),
  longText: () => ({ type: "mediumtext", ...exact }),
  json: () => ({ type: "mediumtext", transformer: json, ...exact }),
  time: () => ({ type: "datetime", precision: 3 }),
  timeOfInsert: () => ({ type: "datetime", precision: 3, update: false, default: () => "CURRENT_TIMESTAMP(3)" }),
  handle: () => ({ type: "varbinary", length: 32, transformer: utf8, ...neverChanged, default: () => serverHandle }),
  double: () => ({ type: "double", transformer: double }),
  uint32: () => ({ type: "int", unsigned: true }),
  boolean: () => ({ type: "boolean" }),
  whole: () => ({ type: "bigint", transformer: number }),
}

const sqliteTypes: ColumnTypes = {
  key: () => ({ type: "text" }),
  hash: () => ({ type: "blob" }),
  string: () => ({ type: "text" }),
  text: () => ({ type: "text" }),
  longText: () => ({ type: "text" }),
  json: () => ({ type: "text", transformer: json }),
  time: () => ({ type: "datetime" }),
  timeOfInsert: () => ({ type: "datetime", update: false, default: "1970-01-01 00:00:00.000" }),
  handle: () => ({ type: "text", ...neverChanged }),
  double: () => ({ type: "double", transformer: double }),
  uint32: () => ({ type: "integer" }),
  boolean: () => ({ type: "boolean" }),
  whole: () => ({ type: "integer" }),
}

// PostgreSQL compares text byte for byte by this collation, and sorts by it. It has no text with U+0000; no string of the
// schema may contain that character. A limit would cost and buy nothing where a key has one of bytes: it counts characters.
const ordered = { collation: "C" }

const postgresTypes: ColumnTypes = {
  key: () => ({ type: "text", ...ordered }),
  hash: () => ({ type: "bytea" }),
  string: (characters) => ({ type: "varchar", length: characters, ...ordered }),
  text: () => ({ type: "text", ...ordered }),
  longText: () => ({ type: "text", ...ordered }),
  json: () => ({ type: "text", transformer: json, ...ordered }),
  time: () => ({ type: "timestamptz", precision: 3 }),
  timeOfInsert: () => ({ type: "timestamptz", precision: 3, update: false, default: () => "now()" }),
  handle: () => ({ type: "text", ...ordered, ...neverChanged, default: () => postgresHandle }),
  double: () => ({ type: "float8", transformer: double }),
  uint32: () => ({ type: "int8", transformer: number }),
  boolean: () => ({ type: "boolean" }),
  whole: () => ({ type: "int8", transformer: number }),
}

export function columnTypes(engine: Engine): ColumnTypes {
  if (engine === "postgres") return postgresTypes
  return engine === "sqlite" ? sqliteTypes : serverTypes
}
