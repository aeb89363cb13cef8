import { hash } from "node:crypto"
import { serialize } from "node:v8"
import type { Peer } from "../../config/origins.js"
import { StartError } from "../../errors/start-error.js"
import { type BulkName, type BulkRows, bulkNames } from "../../store/sql/index.js"
import { type Item, keyDigest, labelOf, type Origin, type Page, type Range } from "../item.js"
import { convert } from "./convert.js"
import { fields, keyFields, layouts, requiredTables } from "./layouts.js"
import type { Mapping } from "./mapping.js"
import { RawRow, type ReadColumn } from "./raw-row.js"
import type { Source, SourceTable } from "./source.js"
import { jsonReader } from "./values.js"

export interface PeerOptions {
  peer: Peer
  mapping: Mapping
  /** The tenant to which the rows belong in Authwire. */
  tenant: string
}

const pageSize = 1000

const everything: Range = { after: undefined, upTo: undefined }

/** Returns an origin that reads the tables of an adapter. Throws StartError if required tables are missing. */
export async function peerOrigin(source: Source, { peer, mapping, tenant }: PeerOptions): Promise<Origin> {
  const there = await source.tables()
  const notes: string[] = []
  const plans = new Map<BulkName, Plan>()
  for (const name of bulkNames) {
    const table = mapping.tables[name] ?? layouts[peer][name]
    if (there.includes(table)) plans.set(name, planOf(name, await source.describe(table), mapping))
    else if (mapping.tables[name] !== undefined || requiredTables.includes(name)) {
      throw new StartError(
        `--url: there is no table ${table} for ${name}, only ${there.sort().join(", ") || "none"}; see --mapping`,
      )
    } else notes.push(`there is no table ${table}: no ${name} are imported`)
  }
  for (const [name, { table, columns }] of plans) {
    const folding = keyFields[name].filter((field) => columns.find((column) => column.field === field)?.folds)
    if (folding.length > 0) {
      notes.push(
        `${table.name}: the database treats some different values of ${folding.join(" and ")} as equal (case, accents or ` +
          "trailing spaces), and may have merged two of them; Authwire compares bytes",
      )
    }
    const others = columns.filter(({ field }) => field === undefined).map((column) => column.name)
    if (others.length === 0) continue
    const where = name === "verificationTokens" ? "are not imported" : "are stored in extra"
    notes.push(`${table.name}: columns that the contract does not define ${where}: ${others.join(", ")}`)
  }

  return {
    notes,
    // Everything that determines how a cell is converted.
    layout: JSON.stringify([tenant, mapping.timezone, Object.fromEntries(plans)]),

    async count(name) {
      const plan = plans.get(name)
      return plan === undefined ? 0 : source.count(plan.table.name)
    },

    async *pages<N extends BulkName>(
      name: N,
      ranges: readonly Range[] = [everything],
    ): AsyncGenerator<Page<BulkRows[N]>> {
      const plan = plans.get(name)
      if (plan === undefined) return
      for (const range of ranges) yield* pagesOf(name, plan, range)
    },

    close: () => source.close(),
  }

  async function* pagesOf<N extends BulkName>(
    name: N,
    { table, columns }: Plan,
    { after, upTo }: Range,
  ): AsyncGenerator<Page<BulkRows[N]>> {
    // A range that was one page is read with one statement, even if it has grown a little.
    const limit = upTo === undefined ? pageSize : 2 * pageSize
    for (let from = after; ; ) {
      const rows = await source.page(table, { after: from, upTo }, limit)
      const isLast = rows.length < limit
      const range = { after: from, upTo: isLast ? upTo : rows.at(-1)?.slice(table.columns.length) }
      if (rows.length > 0) {
        yield {
          length: rows.length,
          source: { range, digest: hash("sha256", serialize(rows), "base64") },
          items: (isSound) =>
            rows.map((cells) => itemOf(name, new RawRow(columns, cells, mapping.timezone), tenant, isSound)),
        }
      }
      if (isLast) return
      from = range.upTo
    }
  }
}

function itemOf<N extends BulkName>(name: N, raw: RawRow, tenant: string, isSound: boolean): Item<BulkRows[N]> {
  const row = convert[name](raw, tenant, isSound)
  const isValid = raw.faults.every(({ kind }) => kind !== "invalid")
  return {
    row: isValid ? row : undefined,
    // Getters, because a page that is read again needs few of the keys and labels.
    get key() {
      return keyDigest[name](row)
    },
    get label() {
      return labelOf[name](row)
    },
    faults: raw.faults,
  }
}

/** How a table is read. */
interface Plan {
  table: SourceTable
  /** The columns that are read, in the order of the cells. */
  columns: ReadColumn[]
}

function planOf(name: BulkName, { columns: all, ...rest }: SourceTable, mapping: Mapping): Plan {
  const ignored = mapping.ignore[name] ?? []
  const table = { ...rest, columns: all.filter((column) => !ignored.includes(column.name)) }
  const fieldOf = new Map<string, string>()
  for (const [field, need] of Object.entries(fields[name])) {
    const given = mapping.columns[name]?.[field]
    const names = given === undefined ? [field, snakeCase(field)] : [given]
    const column = table.columns.find((one) => names.includes(one.name))
    if (column !== undefined) fieldOf.set(column.name, field)
    else if (given !== undefined || need === "required") {
      const there = all.map((one) => one.name).join(", ")
      throw new StartError(`--url: the table ${table.name} has no column ${names[0]}, only ${there}; see --mapping`)
    }
  }
  const columns = table.columns.map((column) => ({
    ...column,
    field: fieldOf.get(column.name),
    json: jsonReader(column.type),
  }))
  return { table, columns }
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`)
}
