import { hash } from "node:crypto"
import { serialize } from "node:v8"
import type { Peer } from "../../config/import-sources.js"
import { StartError } from "../../errors/start-error.js"
import { type BulkName, type BulkRows, bulkNames } from "../../store/sql/index.js"
import { type ImportSource, type Item, keyDigest, labelOf, type Page } from "../item.js"
import { convert } from "./convert.js"
import { fields, keyFields, layouts, requiredTables } from "./layouts.js"
import { type Decision, decisions, defaultFor, type Mapping, wordsOf } from "./mapping.js"
import { RawRow, type ReadColumn, snakeCase } from "./raw-row.js"
import { rowLabel } from "./row-label.js"
import { rowDigest, type Source, type SourceTable } from "./source.js"
import { dateOf, jsonReader, kindOfType } from "./values.js"

export interface PeerOptions {
  peer: Peer
  mapping: Mapping
  /** The tenant to which the rows belong in Authwire. */
  tenant: string
}

const pageSize = 1000

/** Returns a source that reads the tables of an adapter. Throws StartError if required tables are missing. */
export async function peerSource(source: Source, { peer, mapping, tenant }: PeerOptions): Promise<ImportSource> {
  const there = await source.tables()
  const notes: string[] = []
  const plans = new Map<BulkName, Plan>()
  for (const name of bulkNames) {
    const table = mapping.tables[name] ?? layouts[peer][name]
    const almost = there.filter((one) => one !== table && isAlmost(one, table))
    if (!there.includes(table) && mapping.tables[name] === undefined && almost.length > 0) {
      const example = JSON.stringify({ tables: { [name]: almost[0] } })
      throw new StartError(
        `--url: there is no table ${table} for ${name}, but ${almost.join(", ")}: say in the file of --mapping whether ` +
          `it is meant, for example ${example}, or name another one`,
      )
    }
    if (there.includes(table)) plans.set(name, await keyed(name, planOf(name, await source.describe(table), mapping)))
    else if (mapping.tables[name] !== undefined || requiredTables.includes(name)) {
      throw new StartError(
        `--url: there is no table ${table} for ${name}, only ${there.sort().join(", ") || "none"}; see --mapping`,
      )
    } else notes.push(`there is no table ${table}: no ${name} are imported`)
  }
  const folding: string[] = []
  for (const [name, { table, columns, decided }] of plans) {
    const keys = columns.filter(({ field, folds }) => folds && field !== undefined && keyFields[name].includes(field))
    folding.push(...keys.map((column) => `${table.name}.${column.name}`))
    for (const decision of decisions) {
      const those = [...decided].filter(([, one]) => one === decision).map(([column]) => column)
      if (those.length === 0) continue
      notes.push(`${table.name}: columns that the contract does not define ${meanings[decision]}: ${those.join(", ")}`)
    }
  }
  if (folding.length > 0) {
    notes.unshift(
      `the database treats some different values of ${folding.join(", ")} as equal (case, accents or trailing spaces), ` +
        "and may have merged two users; Authwire compares bytes",
    )
  }

  return {
    notes,

    async count(name) {
      const plan = plans.get(name)
      return plan === undefined ? 0 : source.count(plan.table.name)
    },

    async *pages<N extends BulkName>(name: N): AsyncGenerator<Page<BulkRows[N]>> {
      const plan = plans.get(name)
      if (plan !== undefined) yield* pagesOf(name, plan)
    },

    close: () => source.close(),
  }

  /** Returns the plan with a key to page by: for a view, the columns by which Auth.js looks rows up. */
  async function keyed(name: BulkName, plan: Plan): Promise<Plan> {
    const { table, columns } = plan
    if (table.key.length > 0) return plan
    const key = keyFields[name].flatMap((field) => columns.find((column) => column.field === field)?.name ?? [])
    if (key.length > 0 && (await source.isUnique(table.name, key))) return { ...plan, table: { ...table, key } }
    const obstacle = `, and several rows have the same ${key.join(" and ")}, or null`
    throw new StartError(`--url: ${table.name} has no unique key to read it by${key.length > 0 ? obstacle : ""}`)
  }

  async function* pagesOf<N extends BulkName>(name: N, plan: Plan): AsyncGenerator<Page<BulkRows[N]>> {
    const { table, columns } = plan
    for (let after: unknown[] | undefined; ; ) {
      const { rows, digests } = await source.page(table, after, pageSize)
      const verify = async () => {
        const there = await digests()
        const index = rows.findIndex((cells, n) => rowDigest(columns, cells) !== there[n])
        if (index < 0 && there.length === rows.length) return
        const cells = rows.at(index)
        throw new StartError(
          `--url: ${table.name}: the digest that the database computes is not that of what was read: ` +
            `${cells === undefined ? "no row" : itemOf(name, plan, cells, true).label}; run the command again if the source ` +
            "has changed meanwhile",
        )
      }
      if (rows.length === 0) await verify()
      else {
        yield {
          length: rows.length,
          digest: hash("sha256", serialize(rows), "base64"),
          items: (isSound) => rows.map((cells) => itemOf(name, plan, cells, isSound)),
          verify,
        }
      }
      if (rows.length < pageSize) return
      after = rows.at(-1)?.slice(table.columns.length)
    }
  }

  function itemOf<N extends BulkName>(
    name: N,
    { table, columns, constants }: Plan,
    cells: readonly unknown[],
    isSound: boolean,
  ): Item<BulkRows[N]> {
    const parsed = cells.map((cell, index) => (cell === null ? null : (columns[index]?.parse?.(cell) ?? cell)))
    const raw = new RawRow(columns, parsed, mapping.timezone, constants)
    const row = convert[name](raw, tenant, isSound)
    const isValid = raw.faults.every(({ kind }) => kind !== "invalid")
    return {
      row: isValid ? row : undefined,
      // Getters, because a page that is read again needs few of the keys and labels.
      get key() {
        return keyDigest[name](row)
      },
      get label() {
        if (![...keyFields[name], "userId"].some((field) => raw.unreadable.has(field))) return labelOf[name](row)
        return rowLabel(table, columns, cells.slice(table.columns.length))
      },
      faults: raw.faults,
      conversions: raw.conversions,
    }
  }
}

/** How a table is read. */
interface Plan {
  table: SourceTable
  /** The columns that are read, in the order of the cells. */
  columns: ReadColumn[]
  /** The values of properties without a column. */
  constants: Readonly<Record<string, string>>
  /** What happens to each column that the contract does not define. */
  decided: ReadonlyMap<string, Decision>
}

const meanings: Readonly<Record<Decision, string>> = {
  keep: "are stored in extra",
  private: "are stored as private properties",
  ignore: "are not imported",
}

/** Decides how a table is read. Throws StartError if a column is missing, or if a name is almost one of the contract. */
function planOf(name: BulkName, { columns: all, ...rest }: SourceTable, mapping: Mapping): Plan {
  const words = wordsOf(name, mapping)
  const table = { ...rest, columns: all.filter((column) => words.get(column.name) !== "ignore") }
  const chosen = new Map<string, Pick<ReadColumn, "field" | "as" | "whenTrue" | "omitsInvalid">>()
  const constants: Record<string, string> = {}
  const indexOf = (column: string) => table.columns.findIndex((one) => one.name === column)
  const missing = (column: string) => {
    const there = all.map((one) => one.name).join(", ")
    return new StartError(`--url: the table ${table.name} has no column ${column}, only ${there}; see --mapping`)
  }
  for (const column of words.keys()) if (!all.some((one) => one.name === column)) throw missing(column)
  const missed: string[] = []
  for (const [field, need] of Object.entries(fields[name])) {
    const given = mapping.columns[name]?.[field]
    if (typeof given === "object" && "constant" in given) {
      constants[field] = given.constant
      continue
    }
    const { column: named, whenTrue, as, whenInvalid } = typeof given === "string" ? { column: given } : (given ?? {})
    const names = named === undefined ? [field, snakeCase(field)].filter((one) => !words.has(one)) : [named]
    const column = names.find((one) => indexOf(one) >= 0)
    if (column !== undefined) {
      const other = whenTrue === undefined || /^(now$|\d{4}-)/.test(whenTrue) ? undefined : indexOf(whenTrue)
      if (other === -1) throw missing(whenTrue as string)
      const date = whenTrue === "now" ? startOfImport : whenTrue === undefined ? undefined : dateOf(whenTrue, "Z")
      chosen.set(column, { field, as, whenTrue: other ?? date, omitsInvalid: whenInvalid === "omit" })
    } else if (named !== undefined) throw missing(named)
    else if (need === "required") missed.push(field)
  }
  const others = table.columns.map((column) => column.name).filter((column) => !chosen.has(column))
  const near = Object.keys(fields[name]).flatMap((field) => {
    if (mapping.columns[name]?.[field] !== undefined) return []
    return others.filter((one) => !words.has(one) && isAlmost(one, field)).map((column) => [field, column] as const)
  })
  if (near.length > 0) throw new StartError(nearMiss(name, table.name, near, chosen))
  const [first] = missed
  if (first !== undefined) throw missing(first)
  const unknown = all.map((column) => column.name).filter((column) => !chosen.has(column))
  const decided = new Map(unknown.map((column) => [column, words.get(column) ?? defaultFor(name, column)]))
  const columns = table.columns.map(
    (column): ReadColumn => ({
      ...column,
      field: undefined,
      decision: decided.get(column.name),
      ...chosen.get(column.name),
      json: jsonReader(column.type),
      kind: kindOfType(column.type),
    }),
  )
  return { table, columns, constants, decided }
}

/** The date that stands for true where the mapping says `now`: the same for all rows of a run. */
const startOfImport = new Date()

/** Explains the columns whose names are almost those of the contract, with a mapping that can be used as it is. */
function nearMiss(
  name: BulkName,
  table: string,
  near: readonly (readonly [field: string, column: string])[],
  chosen: ReadonlyMap<string, Pick<ReadColumn, "field">>,
): string {
  const isFree = (field: string) => ![...chosen.values()].some((one) => one.field === field)
  const columns = Object.fromEntries(near.filter(([field]) => isFree(field)))
  const ignore = [...new Set(near.filter(([field]) => !isFree(field)).map(([, column]) => column))]
  const mapping = {
    ...(Object.keys(columns).length > 0 && { columns: { [name]: columns } }),
    ...(ignore.length > 0 && { ignore: { [name]: ignore } }),
  }
  const names = near.map(([field, column]) => `${column} (${field})`).join(", ")
  return (
    `--url: the table ${table} has columns whose names are almost those of Auth.js: ${names}. Say in the file of ` +
    `--mapping which ones are meant, and which ones to ignore, for example ${JSON.stringify(mapping)}`
  )
}

/** Whether a name is that of the contract apart from case, underscores and the ending of a date. */
function isAlmost(name: string, of: string): boolean {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "")
  const [one, other] = [plain(name), plain(of)]
  return one === other || one === `${other}at` || one === `${other}s` || `${one}s` === other
}
