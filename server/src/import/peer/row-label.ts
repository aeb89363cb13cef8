import { hash } from "node:crypto"
import type { ReadColumn } from "./plan.js"
import type { SourceTable } from "./source.js"
import { isBroken } from "./values.js"

/** The properties whose values may be shown. Others may be addresses or tokens. */
const shown: readonly string[] = ["id", "userId", "provider"]

/**
 * Identifies a row by the key by which its table is paged, for rows whose own ids cannot be read: the values as SQL
 * writes them, or the beginning of the SHA-256 of a value that may be secret.
 *
 * @param cells The cells of the key.
 */
export function rowLabel(
  { name, key }: SourceTable,
  columns: readonly ReadColumn[],
  cells: readonly unknown[],
): string {
  const parts = key.map((column, index) => {
    const field = columns.find((one) => one.name === column)?.field
    const cell = cells[index]
    const isNumber = typeof cell === "number" || typeof cell === "bigint"
    // The column `id` may hold a token, if the mapping says so.
    const isShown = field === undefined ? isNumber || column === "id" : shown.includes(field)
    const bytes = bytesOf(cell)
    if (!isShown) {
      return `SHA-256 of ${column} = ${hash("sha256", bytes ?? String(cell), "hex").slice(0, 12)}…`
    }
    const text = bytes === undefined ? `'${cell}'` : `X'${bytes.toString("hex")}'`
    return `${column} = ${isNumber ? cell : text}`
  })
  return `row of ${name} with ${parts.join(" and ")}`
}

function bytesOf(cell: unknown): Buffer | undefined {
  if (isBroken(cell)) return Buffer.from(cell.brokenText)
  return cell instanceof Uint8Array ? Buffer.from(cell) : undefined
}
