/**
 * Encodes a value for a header. It percent-encodes the UTF-8 of everything but visible ASCII, and `%` and `,` too. So a
 * text can neither end the header nor lose its first or last characters, two texts never have the same encoding, and
 * `decodeURIComponent` restores the text. The items of a list are separated by commas.
 *
 * @returns undefined for a value that is neither a text, a number, a boolean nor a list of these
 */
export function headerValue(value: unknown): string | undefined {
  if (!Array.isArray(value)) return itemOf(value)
  const items = value.map(itemOf)
  return items.includes(undefined) ? undefined : items.join(",")
}

/** The longest encoded value, in bytes. A longer one is left out, because servers reject longer headers. */
export const maxHeaderBytes = 4_096

function itemOf(value: unknown): string | undefined {
  if (typeof value === "string") return encode(value)
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined
}

const plain = /^[\x21-\x24\x26-\x2b\x2d-\x7e]*$/

function encode(text: string): string {
  if (plain.test(text)) return text
  return text.toWellFormed().replaceAll(/[^\x21-\x24\x26-\x2b\x2d-\x7e]+/g, (part) => encodeURIComponent(part))
}
