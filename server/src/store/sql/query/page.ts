import type { Cell } from "./statement.js"

/** How many rows a statement of a list reads. A row may take some 500 KiB. */
export const rowsPerStatement = 16

/** How much the rows of a page may take, in bytes: as messages they are then smaller than gRPC's clients take by default. */
const maxPageBytes = 512 * 1024

export interface PageOptions<Item extends Position, Position> {
  /** The most items that the page may have. */
  size: number
  /** The page begins after this. */
  after: Position
  /** Reads the rows that follow a position: `rowsPerStatement` of them, or all that are left if those are fewer. */
  read(after: Position): Promise<Cell[][]>
  itemOf(row: Cell[]): Item
}

/** Reads a page, and after what the next one begins if there is one. */
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

function bytesOf(row: Cell[]): number {
  let bytes = 0
  for (const cell of row) if (typeof cell === "string" || Buffer.isBuffer(cell)) bytes += Buffer.byteLength(cell)
  return bytes
}
