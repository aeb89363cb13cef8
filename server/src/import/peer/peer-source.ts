import { hash } from "node:crypto"
import { serialize } from "node:v8"
import type { Peer } from "../../config/import-sources.js"
import { StartError } from "../../errors/start-error.js"
import { type BulkName, type BulkRows, bulkNames } from "../../store/sql/index.js"
import { type ImportSource, type Item, keyDigest, labelOf, type Page } from "../item.js"
import { convert } from "./convert.js"
import { fields, keyFields, layouts, requiredTables } from "./layouts.js"
import { type Decision, decisions, defaultFor, type Mapping, wordsOf } from "./mapping.js"
import { asked, columnQuestion, nearQuestion, type Question, tableQuestion } from "./questions.js"
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

/** Returns a source that reads the tables of an adapter. Throws StartError, which asks for all names that are missing. */
export async function peerSource(source: Source, { peer, mapping, tenant }: PeerOptions): Promise<ImportSource> {
  const there = (await source.tables()).sort()
  const notes: string[] = []
  const questions: Question[] = []
  const plans = new Map<BulkName, Plan>()
  for (const name of bulkNames) {
    const given = mapping.tables[name]
    const table = given ?? layouts[peer][name]
    // Where the mapping has no word for the table, one of almost the same name may be it.
    const almost = given === undefined ? there.filter((one) => isAlmost(one, table)) : []
    const found = there.includes(table) ? table : almost[0]
    if (given === null) notes.push(`the mapping says that there are no ${name}: none are imported`)
    else if (found !== undefined) {
      if (found !== table) questions.push(tableQuestion(name, table, almost))
      const plan = planOf(name, await source.describe(found), mapping, questions)
      if (questions.length === 0) plans.set(name, await keyed(name, plan))
    } else if (given !== undefined || requiredTables.includes(name)) questions.push(tableQuestion(name, table))
    else notes.push(`there is no table ${table}: no ${name} are imported`)
  }
  if (questions.length > 0) throw asked(questions, there)
  const folding: string[] = []
  for (const [name, { table, columns, decided }] of plans) {
    const keys = columns.filter(({ field, folds }) => folds && field !== undefined && keyFields[name].includes(field))
    folding.push(...keys.map((column) => `${table.name}.${column.name}`))
    const creation = columns.find(({ isCreation }) => isCreation)
    if (creation !== undefined) notes.push(`${table.name}: ${creation.name} is when a user was created`)
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

/** Decides how a table is read. Adds questions about columns that are missing, or whose names are almost those of the contract. */
function planOf(name: BulkName, { columns: all, ...rest }: SourceTable, mapping: Mapping, questions: Question[]): Plan {
  const words = wordsOf(name, mapping)
  const table = { ...rest, columns: all.filter((column) => words.get(column.name) !== "ignore") }
  const chosen = new Map<string, Pick<ReadColumn, "field" | "as" | "whenTrue" | "omitsInvalid">>()
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
    const { column: word, whenTrue, as, whenInvalid } = typeof given === "string" ? { column: given } : (given ?? {})
    const names = word === undefined ? [field, snakeCase(field)].filter((one) => !words.has(one)) : [word]
    const column = names.find((one) => indexOf(one) >= 0)
    if (column !== undefined) {
      const other = whenTrue === undefined || /^(now$|\d{4}-)/.test(whenTrue) ? undefined : indexOf(whenTrue)
      if (other === -1) named.push(whenTrue as string)
      const date = whenTrue === "now" ? startOfImport : whenTrue === undefined ? undefined : dateOf(whenTrue, "Z")
      chosen.set(column, { field, as, whenTrue: other ?? date, omitsInvalid: whenInvalid === "omit" })
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

/** Returns a name in lower case and without separators. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "")
}
