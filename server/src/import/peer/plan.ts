import type { BulkName } from "../../store/sql/index.js"
import { fields, snakeCase } from "./layouts.js"
import { type Decision, defaultFor, type Mapping, wordsOf } from "./mapping.js"
import { columnQuestion, nearQuestion, type Question } from "./questions.js"
import type { SourceColumn, SourceTable } from "./source.js"
import { dateOf, type JsonReader, jsonReader, kindOfType, type TypeKind } from "./values.js"

/** A column that is read: a property of the contract, or a column that the contract does not define. */
export interface ReadColumn extends SourceColumn {
  /** The property of the contract. */
  field: string | undefined
  /** Where a column goes that is no property of the contract, under its own name. Default: `keep`. */
  decision?: Decision | undefined
  /** Whether it tells when a user was created. It is a column that the contract does not define too. */
  isCreation?: boolean | undefined
  json: JsonReader
  /** The kind of the values of its type; undefined if they say it themselves. */
  kind?: TypeKind | undefined
  /** For a date that is stored as a flag: the date, or the index of the column with it, that stands for true. */
  whenTrue?: Date | number | undefined
  as?: "uuid" | "milliseconds" | undefined
  /** What the mapping says about single values: a word for the row, or the value in their place. */
  values?: Readonly<Record<string, Decision | { constant: string }>> | undefined
  /** Whether a value that Authwire rejects is left out, so that it does not cost the row. */
  omitsInvalid?: boolean | undefined
}

/** How a table is read. */
export interface Plan {
  table: SourceTable
  /** The columns that are read, in the order of the cells. */
  columns: ReadColumn[]
  /** The values of properties without a column. */
  constants: Readonly<Record<string, string>>
  /** What happens to each column that the contract does not define. */
  decided: ReadonlyMap<string, Decision>
}

/** Decides how a table is read. Adds questions about columns that are missing, or whose names are almost those of the contract. */
export function planOf(
  name: BulkName,
  { columns: all, ...rest }: SourceTable,
  mapping: Mapping,
  questions: Question[],
): Plan {
  const words = wordsOf(name, mapping)
  const table = { ...rest, columns: all.filter((column) => words.get(column.name) !== "ignore") }
  const chosen = new Map<string, Pick<ReadColumn, "field" | "as" | "whenTrue" | "values" | "omitsInvalid">>()
  const constants: Record<string, string> = {}
  const indexOf = (column: string) => table.columns.findIndex((one) => one.name === column)
  const there = all.map((column) => column.name)
  /** The columns that the mapping names, or that are required, and that are not there. */
  const named: string[] = [...words.keys()].filter((column) => !there.includes(column))
  const required: string[] = []
  for (const [field, need] of Object.entries(fields[name])) {
    const given = mapping.columns[name]?.[field]
    if (typeof given === "object" && "constant" in given) {
      constants[field] = given.constant
      continue
    }
    const {
      column: word,
      whenTrue,
      as,
      values,
      whenInvalid,
    } = typeof given === "string" ? { column: given } : (given ?? {})
    const names = word === undefined ? [field, snakeCase(field)].filter((one) => !words.has(one)) : [word]
    const column = names.find((one) => indexOf(one) >= 0)
    if (column !== undefined) {
      const other = whenTrue === undefined || /^(now$|\d{4}-)/.test(whenTrue) ? undefined : indexOf(whenTrue)
      if (other === -1) named.push(whenTrue as string)
      const date = whenTrue === "now" ? startOfImport : whenTrue === undefined ? undefined : dateOf(whenTrue, "Z")
      chosen.set(column, { field, as, whenTrue: other ?? date, values, omitsInvalid: whenInvalid === "omit" })
    } else if (word !== undefined) named.push(word)
    else if (need === "required") required.push(field)
  }
  const others = table.columns.map((column) => column.name).filter((column) => !chosen.has(column))
  const near = Object.keys(fields[name]).flatMap((field) => {
    if (mapping.columns[name]?.[field] !== undefined) return []
    return others.filter((one) => !words.has(one) && isAlmost(one, field)).map((column) => [field, column] as const)
  })
  if (near.length > 0) {
    const isFree = (field: string) => ![...chosen.values()].some((one) => one.field === field)
    questions.push(nearQuestion(name, table.name, near, isFree))
  }
  const creation = creationColumn(name, others, mapping)
  if (creation !== undefined && indexOf(creation) < 0) named.push(creation)
  // A column that is almost the required one is asked about already.
  const missing = [...named, ...required.filter((field) => !near.some(([of]) => of === field))]
  questions.push(...missing.map((column) => columnQuestion(table.name, column, there)))
  const unknown = there.filter((column) => !chosen.has(column))
  const decided = new Map(unknown.map((column) => [column, words.get(column) ?? defaultFor(name, column)]))
  const columns = table.columns.map(
    (column): ReadColumn => ({
      ...column,
      field: undefined,
      decision: decided.get(column.name),
      ...chosen.get(column.name),
      isCreation: column.name === creation,
      json: jsonReader(column.type),
      kind: kindOfType(column.type),
    }),
  )
  return { table, columns, constants, decided }
}

/** The date that stands for true where the mapping says `now`: the same for all rows of a run. */
const startOfImport = new Date()

/** Names of columns that tell when a user was created, in lower case and without separators. */
const creationNames = /^(created(at|on|date|time)?|creat(e|ion)(date|time)|datecreated)$/

/** Returns the column that tells when a user was created: that of the mapping, else the first with such a name. */
function creationColumn(name: BulkName, columns: readonly string[], mapping: Mapping): string | undefined {
  if (name !== "users") return undefined
  const given = mapping.columns.users?.created
  if (typeof given === "string") return given
  return columns.find((column) => creationNames.test(plain(column)))
}

/** Whether a name is that of the contract apart from case, underscores and the ending of a date. */
function isAlmost(name: string, of: string): boolean {
  const [one, other] = [plain(name), plain(of)]
  return one === other || one === `${other}at` || one === `${other}s` || `${one}s` === other
}

/** Returns the tables with almost this name, otherwise those that have a prefix before it, such as `shop_user`. */
export function tablesLike(table: string, there: readonly string[]): string[] {
  const almost = there.filter((one) => isAlmost(one, table))
  if (almost.length > 0) return almost
  return there
    .filter((one) => [...one.matchAll(/_/g)].some(({ index }) => isAlmost(one.slice(index + 1), table)))
    .sort((one, other) => one.length - other.length)
}

/** Returns a name in lower case and without separators. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "")
}
