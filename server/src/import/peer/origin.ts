import { StartError } from "../../bootstrap/start-error.js"
import { type BulkName, type BulkRows, bulkNames } from "../../store/sql/index.js"
import { type Item, labelOf, type Origin } from "../item.js"
import { convert } from "./convert.js"
import { fields, keyFields, layouts, type Peer, requiredTables } from "./layouts.js"
import type { Mapping } from "./mapping.js"
import { RawRow, type ReadColumn } from "./raw-row.js"
import type { Source, SourceTable } from "./source.js"

export interface PeerOptions {
  peer: Peer
  mapping: Mapping
  /** Whose the rows are in Authwire. */
  tenant: string
}

const pageSize = 500

/** What an adapter has written into a database. Throws StartError when its tables are not there. */
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
    } else notes.push(`there is no table ${table}: no ${name}`)
  }
  for (const [name, { table, columns }] of plans) {
    const folding = keyFields[name].filter((field) => columns.find((column) => column.field === field)?.folds)
    if (folding.length > 0) {
      notes.push(
        `${table.name}: the database finds some different values of ${folding.join(" and ")} equal (case, accents or ` +
          "trailing spaces), and may have taken two of them for one; Authwire compares bytes",
      )
    }
    const others = columns.filter(({ field }) => field === undefined).map((column) => column.name)
    if (others.length === 0) continue
    const where = name === "verificationTokens" ? "are left behind" : "go into extra"
    notes.push(`${table.name}: columns that the contract does not name ${where}: ${others.join(", ")}`)
  }

  return {
    notes,

    async count(name) {
      const plan = plans.get(name)
      return plan === undefined ? 0 : source.count(plan.table.name)
    },

    async *pages<N extends BulkName>(name: N): AsyncGenerator<Item<BulkRows[N]>[]> {
      const plan = plans.get(name)
      if (plan === undefined) return
      const { table, columns, byField } = plan
      const width = table.columns.length
      let after: unknown[] | undefined
      for (;;) {
        const rows = await source.page(table, after, pageSize)
        if (rows.length > 0) {
          yield rows.map((cells) => itemOf(name, new RawRow(columns, byField, cells, mapping.timezone), tenant))
        }
        after = rows.at(-1)?.slice(width)
        if (rows.length < pageSize) return
      }
    },

    close: () => source.close(),
  }
}

function itemOf<N extends BulkName>(name: N, raw: RawRow, tenant: string): Item<BulkRows[N]> {
  const row = convert[name](raw, tenant)
  const isValid = raw.faults.every(({ kind }) => kind !== "invalid")
  return { row: isValid ? row : undefined, label: labelOf[name](row), faults: raw.faults }
}

/** How a table is read. */
interface Plan {
  table: SourceTable
  /** Those that are read, in the order of the cells. */
  columns: ReadColumn[]
  /** Where the properties of the contract stand among them. */
  byField: Map<string, number>
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
  const columns = table.columns.map((column) => ({ ...column, field: fieldOf.get(column.name) }))
  const byField = new Map(columns.flatMap(({ field }, index) => (field === undefined ? [] : [[field, index]])))
  return { table, columns, byField }
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`)
}
