/**
 * A value as it stands in a header: its UTF-8, in which everything but visible ASCII is percent-encoded, and `%` and `,` too.
 * So it can neither end the header nor lose what stands at its ends, two values are never told alike, and
 * `decodeURIComponent` has the value again. The items of a list have commas between them.
 *
 * @returns undefined for what is neither a text, a number, a truth value nor a list of these
 */
export function headerValue(value: unknown): string | undefined {
  if (!Array.isArray(value)) return itemOf(value)
  const items = value.map(itemOf)
  return items.includes(undefined) ? undefined : items.join(",")
}

/** The longest value that an application is told, in bytes. One that is longer is left out: servers reject longer headers. */
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
