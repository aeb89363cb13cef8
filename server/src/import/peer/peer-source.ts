import { hash } from "node:crypto"
import { serialize } from "node:v8"
import type { Peer } from "../../config/import-sources.js"
import { StartError } from "../../errors/start-error.js"
import { type BulkName, type BulkRows, bulkNames } from "../../store/sql/index.js"
import { type ImportSource, type Item, keyDigest, labelOf, type Page } from "../item.js"
import { convert } from "./convert.js"
import { keyFields, layouts, requiredTables } from "./layouts.js"
import { type Decision, decisions, type Mapping } from "./mapping.js"
import { type Plan, planOf, tablesLike } from "./plan.js"
import { asked, type Question, tableQuestion } from "./questions.js"
import { RawRow } from "./raw-row.js"
import { rowLabel } from "./row-label.js"
import { type AccountOfUser, type SetAside, setAside } from "./set-aside.js"
import { rowDigest, type Source } from "./source.js"

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
    const almost = given === undefined ? tablesLike(table, there) : []
    const found = there.includes(table) ? table : almost[0]
    if (given === null) notes.push(`the mapping says that there are no ${name}: none are imported`)
    else if (found !== undefined) {
      if (found !== table) questions.push(tableQuestion(name, table, almost))
      const described = await source.describe(found)
      // A file without a line has no columns.
      if (described.columns.length === 0) notes.push(`${found} is empty`)
      else {
        const plan = planOf(name, described, mapping, questions)
        if (questions.length === 0) plans.set(name, await keyed(name, plan))
      }
    } else if (given !== undefined || requiredTables.includes(name)) questions.push(tableQuestion(name, table))
    else notes.push(`there is no table ${table}: no ${name} are imported`)
  }
  if (questions.length > 0) throw asked(questions, there)
  const { type } = mapping.columns.accounts ?? {}
  const words = Object.entries((typeof type === "object" && "values" in type && type.values) || {})
  const moved = words.filter(([, word]) => word === "keep" || word === "private").map(([property]) => property)
  const clash = plans.get("users")?.columns.find((column) => moved.includes(column.name))
  if (clash !== undefined) {
    throw new StartError(
      `--mapping: columns.accounts.type: ${clash.name} is a column of the users, and cannot be in values`,
    )
  }
  if (source.schema !== undefined) notes.push(`the tables are those of the schema ${source.schema}`)
  const replica = await source.replica?.()
  const doubts = replica === undefined ? [] : [replica]
  for (const { table } of plans.values()) {
    if (table.otherKind !== undefined) doubts.push(`${table.name} is a ${table.otherKind}: it may not show every row`)
  }
  const folding: string[] = []
  for (const [name, { table, columns, decided }] of plans) {
    const keys = columns.filter(({ field, folds }) => folds && field !== undefined && keyFields[name].includes(field))
    folding.push(...keys.map((column) => `${table.name}.${column.name}`))
    const creation = columns.find(({ isCreation }) => isCreation)
    if (creation !== undefined) notes.push(`${table.name}: ${creation.name} is when a user was created`)
    if (name === "accounts") notes.push(...words.flatMap(([of, word]) => noteOfType(table.name, of, word)))
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

  let aside: Promise<SetAside> | undefined

  return {
    notes,
    doubts,

    async count(name) {
      const plan = plans.get(name)
      return plan === undefined ? 0 : source.count(plan.table.name)
    },

    async *pages<N extends BulkName>(name: N): AsyncGenerator<Page<BulkRows[N]>> {
      const plan = plans.get(name)
      if (plan === undefined) return
      const accounts = name === "users" && moved.length > 0 ? plans.get("accounts") : undefined
      if (accounts !== undefined) aside ??= setAside(accountsOfUsers(accounts))
      yield* pagesOf(name, plan, await aside)
    },

    async close() {
      const opened = await aside?.catch(() => undefined)
      opened?.close()
      await source.close()
    },
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

  async function* rowsOf({ table }: Plan) {
    for (let after: unknown[] | undefined; ; ) {
      const page = await source.page(table, after, pageSize)
      yield page
      if (page.isLast ?? page.rows.length < pageSize) return
      after = page.rows.at(-1)?.slice(table.columns.length)
    }
  }

  function rawRow({ columns, constants }: Plan, cells: readonly unknown[]): RawRow {
    const parsed = cells.map((cell, index) => (cell === null ? null : (columns[index]?.parse?.(cell) ?? cell)))
    return new RawRow(columns, parsed, mapping.timezone, constants)
  }

  /** Reads the accounts that become properties of their users. */
  async function* accountsOfUsers(plan: Plan): AsyncGenerator<AccountOfUser> {
    for await (const { rows } of rowsOf(plan)) {
      for (const cells of rows) {
        const raw = rawRow(plan, cells)
        const where = raw.wordFor("type")
        if (where === undefined || where === "ignore") continue
        const [userId, property] = [raw.text("userId"), raw.text("type")]
        if (userId !== undefined && property !== undefined) {
          yield { userId, property, where, values: raw.asProperty(where) }
        }
      }
    }
  }

  async function* pagesOf<N extends BulkName>(
    name: N,
    plan: Plan,
    aside: SetAside | undefined,
  ): AsyncGenerator<Page<BulkRows[N]>> {
    const { table, columns } = plan
    for await (const { rows, digests } of rowsOf(plan)) {
      const verify = async () => {
        if (digests === undefined) return
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
          items: (isSound) => rows.map((cells) => itemOf(name, plan, cells, isSound, aside)),
          verify,
        }
      }
    }
  }

  function itemOf<N extends BulkName>(
    name: N,
    plan: Plan,
    cells: readonly unknown[],
    isSound: boolean,
    aside?: SetAside,
  ): Item<BulkRows[N]> {
    const raw = rawRow(plan, cells)
    const row = convert[name](raw, tenant, isSound, aside)
    return {
      row: raw.isImported ? row : undefined,
      // Getters, because a page that is read again needs few of the keys and labels.
      get key() {
        return keyDigest[name](row)
      },
      get label() {
        if (![...keyFields[name], "userId"].some((field) => raw.unreadable.has(field))) return labelOf[name](row)
        return rowLabel(plan.table, plan.columns, cells.slice(plan.table.columns.length))
      },
      faults: raw.faults,
      movedTo: raw.movedTo,
      conversions: raw.conversions,
    }
  }
}

const meanings: Readonly<Record<Decision, string>> = {
  keep: "are stored in extra",
  private: "are stored as private properties",
  ignore: "are not imported",
}

/** Says what becomes of accounts of a type. A type that stands for another one is a conversion. */
function noteOfType(table: string, type: string, word: Decision | { constant: string }): string[] {
  if (typeof word === "object") return []
  const meaning = {
    keep: "are stored in the extra of their users, without what looks like a secret",
    private: "are stored as private properties of their users",
    ignore: "are not imported",
  }[word]
  return [`${table}: accounts of type ${type} ${meaning}`]
}
