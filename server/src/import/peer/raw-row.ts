import type { Extra, JsonValue } from "../../store/types.js"
import { isListOfObjects } from "../../util/json.js"
import type { Conversion, Fault } from "../item.js"
import { snakeCase } from "./layouts.js"
import { type Decision, looksSecret } from "./mapping.js"
import type { ReadColumn } from "./plan.js"
import type { PropertiesOfUser } from "./set-aside.js"
import { dateOf, flagOf, isBroken, kindOf, numberOf, parsed, textOf, uuidOf } from "./values.js"

/** Returns why a cell cannot be text; undefined if nothing speaks against it. A half of a surrogate pair would be stored as U+FFFD. */
function brokenRule(cell: unknown): string | undefined {
  if (isBroken(cell)) return "is not valid UTF-8"
  return typeof cell === "string" && !cell.isWellFormed() ? "must be well-formed Unicode" : undefined
}

/** The rule for a flag in place of a date. An account must not be taken for verified because somebody wrote a number. */
const flagRule =
  "is a flag and not a date: name the date that stands for true as whenTrue in --mapping, or the column with the date"

/** One row as the driver returned it. A value that cannot be read is recorded as a fault, and is undefined. */
export class RawRow {
  readonly faults: Fault[] = []
  /** The properties that could not be read. */
  readonly unreadable = new Set<string>()
  /** The id of the user of whom the account has become a property. */
  movedTo: string | undefined
  /** The values that have become values of another kind. */
  readonly conversions: Conversion[] = []
  readonly #columns: readonly ReadColumn[]
  readonly #cells: readonly unknown[]
  readonly #timezone: string
  readonly #constants: Readonly<Record<string, string>>
  /** The properties of a user that were accounts. */
  #ofUser: PropertiesOfUser | undefined

  /** @param constants - The values of properties without a column. */
  constructor(
    columns: readonly ReadColumn[],
    cells: readonly unknown[],
    timezone: string,
    constants: Readonly<Record<string, string>> = {},
  ) {
    this.#columns = columns
    this.#cells = cells
    this.#timezone = timezone
    this.#constants = constants
  }

  text(field: string): string | undefined {
    const column = this.#columns[this.#indexOf(field)]
    if (column?.as === "uuid") return this.#read(field, uuidOf, "must be the bytes of a UUID")
    const text = this.#read(field, textOf, "must be text")
    const said = column?.values && this.#said(field)
    if (typeof said !== "object") return text
    this.conversions.push({ property: field, what: `${text} → ${said.constant}` })
    return said.constant
  }

  /** Returns the word of the mapping for rows with this value of a property. */
  wordFor(field: string): Decision | undefined {
    const said = this.#said(field)
    return typeof said === "object" ? undefined : said
  }

  /** Returns what the mapping says about the value of a property. */
  #said(field: string): Decision | { constant: string } | undefined {
    const values = this.#columns[this.#indexOf(field)]?.values
    const text = values && textOf(this.#valueOf(field))
    return text !== undefined && Object.hasOwn(values ?? {}, text) ? values?.[text] : undefined
  }

  number(field: string): number | undefined {
    const number = this.#read(field, numberOf, "must be a number")
    if (number === undefined || this.#columns[this.#indexOf(field)]?.as !== "milliseconds") return number
    this.conversions.push({ property: field, what: "milliseconds → seconds", from: number, to: number / 1000 })
    return number / 1000
  }

  /** Returns a time in seconds since 1970, which may be stored as a date. */
  seconds(field: string): number | undefined {
    const isDate = this.#columns[this.#indexOf(field)]?.kind === "date"
    if (!isDate && numberOf(this.#valueOf(field)) !== undefined) return this.number(field)
    const seconds = (value: unknown) => {
      const date = dateOf(value, this.#timezone)
      return date && Math.floor(date.getTime() / 1000)
    }
    return this.#read(field, seconds, "must be a number of seconds or a date")
  }

  /** Returns an unsigned 32-bit integer. */
  counter(field: string): number | undefined {
    const counter = (value: unknown) => {
      const number = numberOf(value)
      return number !== undefined && number >>> 0 === number ? number : undefined
    }
    return this.#read(field, counter, "must be an integer from 0 to 4294967295")
  }

  flag(field: string): boolean | undefined {
    return this.#read(field, flagOf, "must be true or false")
  }

  date(field: string): Date | undefined {
    const flag = flagOf(this.#valueOf(field))
    if (flag === undefined) return this.#read(field, (value) => dateOf(value, this.#timezone), "must be a date")
    const { whenTrue } = this.#columns[this.#indexOf(field)] ?? {}
    const converted = (date: Date | undefined) => {
      const what = date === undefined ? "false → no date" : "true → date"
      this.conversions.push({ property: field, what, from: this.#valueOf(field), to: date })
      return date
    }
    if (!flag) return converted(undefined)
    if (whenTrue === undefined) this.fault(field, flagRule)
    else if (typeof whenTrue !== "number") return converted(whenTrue)
    else {
      const date = dateOf(this.#cells[whenTrue], this.#timezone)
      if (date !== undefined) return converted(date)
      this.fault(field, `is true, and the column for whenTrue has no date`)
    }
    return undefined
  }

  /** Returns when the user was created; undefined if no column tells it. A time that cannot be that is left out. */
  creation(): Date | undefined {
    const index = this.#columns.findIndex(({ isCreation }) => isCreation)
    const cell = this.#cells[index]
    if (cell === undefined || cell === null) return undefined
    const date = dateOf(cell, this.#timezone)
    if (date !== undefined && date.getTime() >= 0) return date
    const detail = `${this.#columns[index]?.name} must be a date since 1970 to tell when the user was created`
    this.faults.push({ kind: "omitted", detail })
    return undefined
  }

  /** Returns text in lower case. */
  lowerCase(field: string): string | undefined {
    const text = this.text(field)
    const lower = text?.toLowerCase()
    if (lower !== text) this.conversions.push({ property: field, what: "text → lower case" })
    return lower
  }

  /** Returns a list of JSON objects. */
  objects(field: string): JsonValue[] | undefined {
    const column = this.#columns[this.#indexOf(field)]
    const objects = (value: unknown) => {
      const json = typeof value === "string" ? parsed(value) : column?.json(value, this.#timezone)
      return isListOfObjects(json) ? (json as JsonValue[]) : undefined
    }
    return this.#read(field, objects, "must be a JSON array of objects")
  }

  /** Returns a required value. Records a fault if it is null. */
  required<T>(field: string, value: T | undefined, otherwise: T): T {
    if (value === undefined) {
      if (this.#valueOf(field) === undefined) this.fault(field, "must not be null")
      // A date that is optional elsewhere.
      else if (flagOf(this.#valueOf(field)) === false) this.fault(field, "must be a date")
    }
    return value ?? otherwise
  }

  /** Returns the private properties; undefined if there are none. */
  privateExtra(): Extra | undefined {
    const entries = this.#entries("private")
    return entries.length === 0 ? undefined : Object.fromEntries(entries)
  }

  /** Returns the columns that the contract does not name, and the named properties that are null. */
  extra(nullable: readonly string[]): Extra {
    return Object.fromEntries(this.#entries("keep", nullable))
  }

  /** Adds the properties of a user that were accounts. */
  addProperties(ofUser: PropertiesOfUser): void {
    this.#ofUser = ofUser
  }

  /** Returns an account as a property of its user: what is not null, without secrets unless the property is private. */
  asProperty(where: "keep" | "private"): Extra {
    const entries: [string, JsonValue][] = []
    for (const [index, { field, name, decision }] of this.#columns.entries()) {
      const property = field ?? name
      if ((this.#cells[index] ?? null) === null || decision === "ignore") continue
      if (field === "userId" || field === "type" || (where === "keep" && looksSecret(property))) continue
      const value = this.#json(index, property)
      if (value !== undefined) entries.push([property, value])
    }
    return Object.fromEntries(entries)
  }

  #entries(wanted: Decision, nullable: readonly string[] = []): [string, JsonValue][] {
    const entries: [string, JsonValue][] = wanted === "ignore" ? [] : Object.entries(this.#ofUser?.[wanted] ?? {})
    for (const [index, column] of this.#columns.entries()) {
      const { field, decision = "keep", name } = column
      const cell = this.#cells[index]
      if (field !== undefined) {
        if (nullable.includes(field) && cell === null) entries.push([field, null])
        continue
      }
      if (decision !== wanted || cell === undefined) continue
      const value = this.#json(index, name)
      if (value === undefined) continue
      this.#note(column, name, cell, value)
      entries.push([name, value])
    }
    return entries
  }

  /** Reads a cell as JSON. */
  #json(index: number, name: string): JsonValue | undefined {
    const cell = this.#cells[index]
    const broken = brokenRule(cell)
    const value = broken === undefined ? this.#columns[index]?.json(cell, this.#timezone) : undefined
    if (value === undefined) this.fault(name, broken ?? "must be a JSON value")
    return value
  }

  /** Records a fault for each field whose value fills its column, because it may have been truncated. */
  checkLengths(fields: readonly string[]): void {
    for (const field of fields) {
      const { maxLength, type } = this.#columns[this.#indexOf(field)] ?? {}
      const value = this.#valueOf(field)
      if (maxLength === undefined || typeof value !== "string" || value.length < maxLength) continue
      if ([...value].length < maxLength) continue
      this.faults.push({ kind: "truncated", detail: `${field} has the maximum length of its column (${type})` })
    }
  }

  /** Whether the row can be imported, as far as is known. */
  get isImported(): boolean {
    return this.faults.every(({ kind }) => kind !== "invalid" && kind !== "set-aside")
  }

  /** Records that an account is none, because the mapping has a word for its type. */
  setAside(word: Decision, userId: string): void {
    if (word !== "ignore") this.movedTo = userId
    this.faults.push({ kind: "set-aside", detail: `type has the word ${word} in the mapping` })
  }

  fault(field: string, rule: string): void {
    this.unreadable.add(field)
    const isOmitted = this.#columns[this.#indexOf(field)]?.omitsInvalid === true
    this.faults.push({ kind: isOmitted ? "omitted" : "invalid", detail: `${field} ${rule}` })
  }

  /**
   * Records a broken rule of the schema, which begins with the name of its field.
   *
   * @returns The property whose value is to be left out, if the mapping says so.
   */
  breach(detail: string): string | undefined {
    const column = this.#columns.find(
      ({ field = "", omitsInvalid }) => omitsInvalid && new RegExp(`^${snakeCase(field)}\\b`).test(detail),
    )
    this.faults.push({ kind: column === undefined ? "invalid" : "omitted", detail })
    return column?.field
  }

  #indexOf(field: string): number {
    return this.#columns.findIndex((column) => column.field === field)
  }

  /** Returns undefined for null, and if there is no such column. */
  #valueOf(field: string): unknown {
    return this.#cells[this.#indexOf(field)] ?? this.#constants[field]
  }

  #read<T>(field: string, read: (value: unknown) => T | undefined, rule: string): T | undefined {
    const given = this.#valueOf(field)
    if (given === undefined) return undefined
    const broken = brokenRule(given)
    const value = broken === undefined ? read(given) : undefined
    if (value === undefined) this.fault(field, broken ?? rule)
    else this.#note(this.#columns[this.#indexOf(field)], field, given, value)
    return value
  }

  /** Notes a value that has become a value of another kind. Values of properties that may be secrets are not shown. */
  #note(column: ReadColumn | undefined, property: string, given: unknown, value: unknown): void {
    const [from, to] = [kindOf(given, column?.kind), kindOf(value)]
    if (from === to || from === undefined || to === undefined) return
    const isShown = column?.field !== undefined && (to !== "text" || property === "id" || property === "userId")
    this.conversions.push({ property, what: `${from} → ${to}`, ...(isShown && { from: given, to: value }) })
  }
}
