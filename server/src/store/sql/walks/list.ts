import { turnByBytes } from "../../../util/turn-limit.js"
import type { Page, PageRequest } from "../../types.js"
import type { Database, Reads } from "../database.js"
import type { Cell, Statement } from "../query/statement.js"
import type { Table } from "../schema/table.js"
import { type AlongOptions, along, type Reach, type Some } from "./along.js"
import type { PageTokens } from "./page-tokens.js"
import { largeRows, largeRowsPerStatement, rowsPerStatement } from "./rows-at-once.js"
import type { RowIn, TableName, WalkOf } from "./walks.js"

/** The most bytes that the rows of a page may take. The message is then smaller than the default limit of gRPC clients. */
export const maxPageBytes = 512 * 1024

/**
 * The most items of a page, whatever its caller asks for. Small ones are converted and encoded in few turns of the event loop, which would
 * take 40 ms for 1,000 users, and many pages that are being read keep all their items in memory.
 */
export const maxPageItems = 100

/**
 * The most entries of an index that one statement of a filtered list examines, whatever it finds. On SQLite, where a statement blocks
 * the process, they take about 4 ms.
 */
export const examinedAtOnce = 1_000

/** The number of such statements after which a page ends, even if it is empty. */
export const slicesOfPage = 10

/** A condition that may exclude many rows, with what makes the cells of its parameters. */
export interface Filter<Values> {
  condition: string
  parameters?: Readonly<Record<string, (values: Values) => Cell>>
}

interface ListOptions<Name extends TableName, Values>
  extends Pick<AlongOptions<RowIn<Name>, Values>, "alias" | "select" | "backwards" | "to" | "where" | "join"> {
  /** With a filter, the list is read in slices of `examinedAtOnce` entries. Default: no filter. */
  filter?: Filter<Values> | undefined
  /** The table whose rows are read, and its alias. Default: those of the walk. */
  rows?: { table: Pick<Table<object, never>, "readable" | "bytes">; alias: string }
}

/** A call of a list. */
export interface ListCall<Item, Row, Values> {
  tokens: PageTokens
  /** What the page tokens are bound to; see PageTokens. The second one is the tenant. */
  name: readonly string[]
  /** The position before all entries. No id is empty. */
  first: Some<Row>
  values: Values
  /** Converts a row. One that is no item, or cannot be read, is an entry of the page nevertheless: the list goes on after it. */
  itemOf(row: Cell[]): Item | undefined
  reads: Reads
  /** Aborts when the caller has given up. */
  signal: AbortSignal | undefined
  /** Reads where a slice is full, so that the statement may find few rows. Default: `reads`. */
  scans?: Reads
}

/** Creates the pages of a list along a walk. They throw INVALID_FIELD for a token of another list. */
export function listAlong<Name extends TableName, More = unknown>(
  database: Database,
  walk: WalkOf<Name>,
  { filter, rows, ...options }: ListOptions<Name, Reach<RowIn<Name>> & More>,
) {
  type Row = RowIn<Name>
  type Values = Reach<Row> & More
  const place = walk.position ?? walk.order
  const { alias, backwards = false, to = [] } = options
  const table = database.tables[walk.table] as unknown as Table<Row, keyof Row>
  const position = place.map((column) => `${alias}.${column}`).join(", ")
  const { table: read, alias: readAs } = rows ?? { table, alias }
  const following = {
    ...options,
    after: place,
    where: [options.where, filter?.condition].filter(Boolean).join(" AND "),
    parameters: filter?.parameters ?? {},
    limit: rowsPerStatement,
  }
  const sizesOf = (limit: number) =>
    along<Name, More>(database, walk, {
      ...following,
      select: `${read.bytes(readAs)}, ${position}`,
      to: filter === undefined ? to : place,
      limit,
    })
  const [sizesOfFollowing, sizesOfLarge] = [sizesOf(rowsPerStatement), sizesOf(largeRowsPerStatement)]
  const large = largeRows()
  const followingUntil = along<Name, More>(database, walk, {
    ...following,
    select: `${options.select}, ${position}`,
    to: place,
  })
  /** Selects the entry that is `examinedAtOnce` entries after a position. */
  const endOfSlice: Statement<Values> | undefined =
    filter &&
    along<Name, More>(database, walk, {
      ...{ alias, backwards, to, after: place, select: position, limit: 1 },
      offset: examinedAtOnce - 1,
    })
  const positionIn = (cells: Cell[]) => {
    const found = cells.slice(-place.length)
    return Object.fromEntries(place.map((column, n) => [column, table.value(column, found[n] as Cell)])) as Some<Row>
  }

  return async <Item>(page: PageRequest, call: ListCall<Item, Row, Values>): Promise<Page<Item>> => {
    const { tokens, name, values, itemOf, reads, scans = reads } = call
    const tenant = name[1] ?? ""
    const most = Math.min(page.size, maxPageItems)
    const items: Item[] = []
    const turnFor = turnByBytes(database.readTurn, tenant, call.signal)
    let [entries, bytes] = [0, 0]
    let after = page.token === undefined ? call.first : rowOf<Row>(place, tokens.open<TokenPosition>(name, page.token))
    const more = () => ({ items, nextToken: tokens.seal(name, jsonOf(place.map((column) => after[column]))) })
    for (let slices = 1; ; slices++) {
      const [found] = endOfSlice === undefined ? [] : await reads.read(endOfSlice, { ...values, after })
      const end = found && positionIn(found)
      const sql = end === undefined ? reads : scans
      for (let isRead = false; !isRead; ) {
        const isLarge = large.has(tenant)
        const reach = { ...values, after, ...(end && { to: end }) }
        const sizes = await sql.read(isLarge ? sizesOfLarge : sizesOfFollowing, reach)
        let to: Some<Row> | undefined
        let isFull = false
        for (const size of sizes) {
          bytes += Number(size[0])
          isFull = entries === most || (entries > 0 && bytes > maxPageBytes)
          if (isFull) break
          entries++
          to = positionIn(size)
        }
        const rows = to === undefined ? [] : await sql.read(followingUntil, { ...values, after, to })
        for (const [index, row] of rows.entries()) {
          // Rows may have been inserted meanwhile.
          if (items.length === most) return more()
          await turnFor(Number(sizes[index]?.[0] ?? 0))
          const item = read.readable([row], itemOf)[0]
          if (item !== undefined) items.push(item)
          after = positionIn(row)
        }
        const isWhole = rows.length < rowsPerStatement
        if (isWhole && to !== undefined) after = to
        large.found(tenant, entries, isFull && bytes > maxPageBytes)
        if (isFull) return more()
        isRead = isWhole && sizes.length < (isLarge ? largeRowsPerStatement : rowsPerStatement)
      }
      if (end === undefined) return { items }
      after = end
      if (slices === slicesOfPage) return more()
    }
  }
}

/** A position in a page token: texts and numbers as they are, and times in a list. */
type TokenPosition = (string | number | [ms: number])[]

function jsonOf(values: readonly unknown[]): TokenPosition {
  return values.map((value) => (value instanceof Date ? [value.getTime()] : (value as string | number)))
}

function rowOf<Row>(place: readonly (keyof Row & string)[], position: TokenPosition): Some<Row> {
  const values = position.map((value) => (typeof value === "object" ? new Date(value[0]) : value))
  return Object.fromEntries(place.map((column, n) => [column, values[n]])) as Some<Row>
}
