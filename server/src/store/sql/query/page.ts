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

export interface PageOptions<Item extends Position, Position> {
  /** The most items of the page. */
  size: number
  /** The position after which the page begins. */
  after: Position
  /**
   * For a list whose filter may exclude rows: returns the position of the entry that is `examinedAtOnce` entries after a position, or
   * undefined if fewer are left. The list is read in slices that end there.
   */
  endOfSlice?: (after: Position) => Promise<Position | undefined>
  /** Reads the rows after a position and up to the end of the slice: `rowsPerStatement` of them, or all if there are fewer. */
  read(after: Position, end: Position | undefined): Promise<Cell[][]>
  itemOf(row: Cell[]): Item
}

/** Reads a page. `next` is the position after which the next page begins, undefined on the last page. */
export async function readPage<Item extends Position, Position>(
  options: PageOptions<Item, Position>,
): Promise<{ items: Item[]; next: Position | undefined }> {
  const { size, after, endOfSlice, read, itemOf } = options
  const most = Math.min(size, maxPageItems)
  const items: Item[] = []
  let bytes = 0
  let last = after
  for (let slices = 1; ; slices++) {
    const end = await endOfSlice?.(last)
    for (let isRead = false; !isRead; ) {
      const rows = await read(last, end)
      for (const row of rows) {
        bytes += bytesOf(row)
        const isFull = items.length === most || (items.length > 0 && bytes > maxPageBytes)
        if (isFull) return { items, next: last }
        const item = itemOf(row)
        items.push(item)
        last = item
      }
      isRead = rows.length < rowsPerStatement
    }
    if (end === undefined) return { items, next: undefined }
    last = end
    if (slices === slicesOfPage) return { items, next: last }
  }
}

/** Returns the size of the texts and bytes of a row. Numbers and dates are small and do not count. */
export function bytesOf(row: readonly Cell[]): number {
  let bytes = 0
  for (const cell of row) if (typeof cell === "string" || Buffer.isBuffer(cell)) bytes += Buffer.byteLength(cell)
  return bytes
}
