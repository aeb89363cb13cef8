import type { Cell } from "./statement.js"

/** The number of rows that one statement of a list reads. A row may take about 500 KiB. */
export const rowsPerStatement = 16

/** The most bytes that the rows of a page may take. The message is then smaller than the default limit of gRPC clients. */
const maxPageBytes = 512 * 1024

export interface PageOptions<Item extends Position, Position> {
  /** The most items of the page. */
  size: number
  /** The position after which the page begins. */
  after: Position
  /** Reads the rows after a position: `rowsPerStatement` of them, or all that are left if there are fewer. */
  read(after: Position): Promise<Cell[][]>
  itemOf(row: Cell[]): Item
}

/** Reads a page. `next` is the item after which the next page begins, undefined on the last page. */
export async function readPage<Item extends Position, Position>(
  options: PageOptions<Item, Position>,
): Promise<{ items: Item[]; next: Item | undefined }> {
  const { size, after, read, itemOf } = options
  const items: Item[] = []
  let bytes = 0
  for (;;) {
    const rows = await read(items.at(-1) ?? after)
    for (const row of rows) {
      bytes += bytesOf(row)
      const isFull = items.length === size || (items.length > 0 && bytes > maxPageBytes)
      if (isFull) return { items, next: items.at(-1) }
      items.push(itemOf(row))
    }
    if (rows.length < rowsPerStatement) return { items, next: undefined }
  }
}

/** Returns the size of the texts and bytes of a row. Numbers and dates are small and do not count. */
export function bytesOf(row: readonly Cell[]): number {
  let bytes = 0
  for (const cell of row) if (typeof cell === "string" || Buffer.isBuffer(cell)) bytes += Buffer.byteLength(cell)
  return bytes
}
