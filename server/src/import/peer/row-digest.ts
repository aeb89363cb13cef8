import { createHash } from "node:crypto"
import { isBroken } from "./broken-text.js"
import type { SourceColumn } from "./source.js"

/**
 * Returns the SHA-256 of the cells of a row: for each its length in bytes, a colon and its bytes, or a minus sign for null.
 * The database computes the same from what it holds. Fractions of SQLite count to three decimal places, because it writes them in
 * another way than JavaScript; the other sources return fractions as text.
 */
export function rowDigest(columns: readonly SourceColumn[], cells: readonly unknown[]): string {
  const digest = createHash("sha256")
  for (const [index, { isOpaque }] of columns.entries()) {
    if (isOpaque) continue
    const cell = cells[index]
    if (cell === null || cell === undefined) digest.update("-")
    else {
      const bytes = bytesOf(cell)
      digest.update(`${Buffer.byteLength(bytes)}:`).update(bytes)
    }
  }
  return digest.digest("hex")
}

function bytesOf(cell: unknown): string | Uint8Array {
  if (typeof cell === "string" || cell instanceof Uint8Array) return cell
  if (isBroken(cell)) return cell.brokenText
  if (typeof cell === "number" && !Number.isSafeInteger(cell)) return `~${thousandths(cell)}`
  return String(cell)
}

function thousandths(number: number): string {
  return Math.abs(number) < 1e12 ? String(Math.trunc(number * 1000)) : ""
}
