import type { Extra, JsonValue } from "../../store/types.js"
import type { Fault } from "../item.js"
import type { SourceColumn } from "./source.js"
import { dateOf, flagOf, type JsonReader, numberOf, parsed, textOf } from "./values.js"

/** A column that is read: either a property of the contract or one more entry of `extra`. */
export interface ReadColumn extends SourceColumn {
  /** The property of the contract; undefined for a column that goes into `extra` under its own name. */
  field: string | undefined
  json: JsonReader
}

/**
 * One row as the driver returned it, read property by property. A value that cannot be read is recorded as a fault and
 * returned as undefined.
 */
export class RawRow {
  readonly faults: Fault[] = []
  readonly #columns: readonly ReadColumn[]
  readonly #byField: ReadonlyMap<string, number>
  readonly #cells: readonly unknown[]
  readonly #timezone: string

  constructor(
    columns: readonly ReadColumn[],
    byField: ReadonlyMap<string, number>,
    cells: readonly unknown[],
    timezone: string,
  ) {
    this.#columns = columns
    this.#byField = byField
    this.#cells = cells
    this.#timezone = timezone
  }

  text(field: string): string | undefined {
    return this.#read(field, textOf, "must be text")
  }

  number(field: string): number | undefined {
    return this.#read(field, numberOf, "must be a number")
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
    return this.#read(field, (value) => dateOf(value, this.#timezone), "must be a date")
  }

  /** Returns a list of JSON objects. */
  objects(field: string): JsonValue[] | undefined {
    const column = this.#columns[this.#byField.get(field) ?? -1]
    const objects = (value: unknown) => {
      const json = typeof value === "string" ? parsed(value) : column?.json(value, this.#timezone)
      return Array.isArray(json) && json.every(isObject) ? json : undefined
    }
    return this.#read(field, objects, "must be a JSON array of objects")
  }

  /** Returns a required value. Records a fault if it is null. */
  required<T>(field: string, value: T | undefined, otherwise: T): T {
    if (value === undefined && this.#isNull(field)) this.fault(field, "must not be null")
    return value ?? otherwise
  }

  /**
   * Returns the columns that the contract does not name, and the named properties that are null, so that they are null
   * when they are read back.
   */
  extra(nullable: readonly string[]): Extra {
    const entries: [string, JsonValue][] = []
    for (const field of nullable) if (this.#byField.has(field) && this.#isNull(field)) entries.push([field, null])
    for (const [index, { field, name, json }] of this.#columns.entries()) {
      if (field !== undefined) continue
      const value = json(this.#cells[index], this.#timezone)
      if (value === undefined) this.fault(name, "must be a JSON value")
      else entries.push([name, value])
    }
    return Object.fromEntries(entries)
  }

  /**
   * Records a fault for each field whose value is as long as its column allows. A longer value may have been truncated.
   */
  checkLengths(fields: readonly string[]): void {
    for (const field of fields) {
      const index = this.#byField.get(field)
      const { maxLength, type } = (index === undefined ? undefined : this.#columns[index]) ?? {}
      const value = index === undefined ? undefined : this.#cells[index]
      if (maxLength === undefined || typeof value !== "string" || value.length < maxLength) continue
      if ([...value].length < maxLength) continue
      this.faults.push({ kind: "truncated", detail: `${field} has the maximum length of its column (${type})` })
    }
  }

  fault(field: string, rule: string): void {
    this.faults.push({ kind: "invalid", detail: `${field} ${rule}` })
  }

  #isNull(field: string): boolean {
    const index = this.#byField.get(field)
    return index === undefined || this.#cells[index] === null || this.#cells[index] === undefined
  }

  #read<T>(field: string, read: (value: unknown) => T | undefined, rule: string): T | undefined {
    const index = this.#byField.get(field)
    if (index === undefined || this.#isNull(field)) return undefined
    const value = read(this.#cells[index])
    if (value === undefined) this.fault(field, rule)
    return value
  }
}

function isObject(value: JsonValue): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
