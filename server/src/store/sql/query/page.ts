import type { JsonValue, Page, PageRequest } from "../../types.js"
import type { PageTokens } from "./page-tokens.js"
import type { Cell } from "./statement.js"

/** The number of rows that one statement of a list reads. A row may take about 500 KiB. */
export const rowsPerStatement = 16

/** The most bytes that the rows of a page may take. The message is then smaller than the default limit of gRPC clients. */
export const maxPageBytes = 512 * 1024

/**
 * The most items of a page, whatever its caller asks for. They are converted and encoded in one turn of the event loop, which would take
 * 40 ms for 1,000 users, and many pages that are being read keep all their items in memory.
 */
export const maxPageItems = 100

/**
 * The most entries of an index that one statement of a filtered list examines, whatever it finds. On SQLite, where a statement blocks
 * the process, they take about 4 ms.
 */
export const examinedAtOnce = 1_000

/** The number of such statements after which a page ends, even if it is empty. */
export const slicesOfPage = 10

/** A list, and how it is read. A position is what its page tokens contain. */
export interface List<Item, Position extends JsonValue> {
  tokens: PageTokens
  /** What the page tokens are bound to; see PageTokens. */
  name: readonly string[]
  /** The position before all entries. No id is empty. */
  first: Position
  /**
   * For a list whose filter may exclude rows: returns the position of the entry that is `examinedAtOnce` entries after a position, or
   * undefined if fewer are left. The list is read in slices that end there.
   */
  endOfSlice?: ((after: Position) => Promise<Position | undefined>) | undefined
  /** Reads the rows after a position and up to the end of the slice: `rowsPerStatement` of them, or all if there are fewer. */
  read(after: Position, end: Position | undefined): Promise<Cell[][]>
  /** The table whose rows are read. */
  table: { readable<Made>(rows: readonly Cell[][], make: (cells: Cell[]) => Made): Made[] }
  /** Converts a row. One that is no item, or cannot be read, is an entry of the page nevertheless: the list goes on after it. */
  itemOf(row: Cell[]): Item | undefined
  positionOf(row: Cell[]): Position
}

/** Reads a page of a list. Throws INVALID_FIELD for a token of another list. */
export async function readList<Item, Position extends JsonValue>(
  { size, token }: PageRequest,
  { tokens, name, first, endOfSlice, read, table, itemOf, positionOf }: List<Item, Position>,
): Promise<Page<Item>> {
  const most = Math.min(size, maxPageItems)
  const entries: (Item | undefined)[] = []
  let bytes = 0
  let last = token === undefined ? first : tokens.open<Position>(name, token)
  const page = (isLast: boolean): Page<Item> => ({
    items: entries.filter((item) => item !== undefined),
    nextToken: isLast ? undefined : tokens.seal(name, last),
  })
  for (let slices = 1; ; slices++) {
    const end = await endOfSlice?.(last)
    for (let isRead = false; !isRead; ) {
      const rows = await read(last, end)
      for (const row of rows) {
        bytes += bytesOf(row)
        const isFull = entries.length === most || (entries.length > 0 && bytes > maxPageBytes)
        if (isFull) return page(false)
        entries.push(table.readable([row], itemOf)[0])
        last = positionOf(row)
      }
      isRead = rows.length < rowsPerStatement
    }
    if (end === undefined) return page(true)
    last = end
    if (slices === slicesOfPage) return page(false)
  }
}

/** Returns the size of the texts and bytes of a row. Numbers and dates are small and do not count. */
export function bytesOf(row: readonly Cell[]): number {
  let bytes = 0
  for (const cell of row) if (typeof cell === "string" || Buffer.isBuffer(cell)) bytes += Buffer.byteLength(cell)
  return bytes
}
