import { hash } from "node:crypto"
import type { ReadColumn } from "./raw-row.js"

/**
 * Compares a row with the cells from which it was made, by rules of its own that are simpler than those of the
 * conversion: null is nothing, text is the same text, and no date comes from false or from another number.
 *
 * @param omitted The properties that were left out as the mapping says.
 * @returns The first property that disagrees with its cell; undefined if none does.
 */
export function disagreement(
  columns: readonly ReadColumn[],
  cells: readonly unknown[],
  row: Readonly<Record<string, unknown>>,
  omitted: ReadonlySet<string> = new Set(),
): string | undefined {
  const differs = (column: ReadColumn, index: number) => {
    const { field } = column
    if (field === undefined || omitted.has(field)) return false
    return !agrees(cells[index], field in row ? row[field] : row.tokenHash, column)
  }
  return columns.find(differs)?.field
}

function agrees(cell: unknown, value: unknown, column: ReadColumn): boolean {
  if (cell === null || cell === undefined) return value === undefined
  if (typeof value === "string") return isSameText(cell, value, column)
  // The hash of a token.
  if (value instanceof Uint8Array) return hash("sha256", bytesOf(cell), "buffer").equals(value)
  if (typeof value === "number") return Number(cell) === (column.as === "milliseconds" ? value * 1000 : value)
  if (typeof value === "boolean") return value !== isFalse(cell)
  if (value === undefined) return isFalse(cell)
  return value instanceof Date ? isSameDate(cell, value, column) : true
}

function isSameText(cell: unknown, value: string, { as, field }: ReadColumn): boolean {
  if (as === "uuid") return bytesOf(cell).toString("hex") === value.replaceAll("-", "")
  const text = bytesOf(cell)
  return text.equals(Buffer.from(value)) || (field === "token_type" && text.toString().toLowerCase() === value)
}

function isSameDate(cell: unknown, value: Date, { whenTrue }: ReadColumn): boolean {
  if (isFalse(cell)) return false
  if (whenTrue !== undefined) return true
  const number = Number(cell)
  if (Number.isNaN(number)) return Math.abs(value.getUTCFullYear() - Number(String(cell).slice(0, 4))) <= 1
  return [number, number * 1000].some((one) => Math.trunc(one) === value.getTime())
}

function isFalse(cell: unknown): boolean {
  const plain = cell instanceof Uint8Array && cell.length === 1 ? cell[0] : cell
  return Number(plain) === 0 || /^\s*(f|false|n|no|off)\s*$/i.test(String(plain))
}

function bytesOf(cell: unknown): Buffer {
  return cell instanceof Uint8Array ? Buffer.from(cell) : Buffer.from(String(cell))
}
