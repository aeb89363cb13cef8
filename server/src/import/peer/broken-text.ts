import { isUtf8 } from "node:buffer"

/** A text that is not valid UTF-8. */
export interface BrokenText {
  brokenText: Uint8Array
}

export function isBroken(cell: unknown): cell is BrokenText {
  return typeof cell === "object" && cell !== null && "brokenText" in cell
}

/** Decodes a text. Nothing of it is left out or replaced. */
export function decoded(bytes: Buffer): string | BrokenText {
  return isUtf8(bytes) ? bytes.toString("utf8") : { brokenText: bytes }
}
