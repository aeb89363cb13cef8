import { maxParts } from "../../rpc/interceptors/validation.js"
import { utf8 } from "../../util/utf8.js"

/** The error of a message that has too many parts, in JSON or in protobuf. */
export const tooManyParts = "the message has too many parts"

/**
 * Decodes a message in JSON, before it is parsed. Throws an error with `tooManyParts` if it has more parts than `validation`
 * allows: parsing 4 MiB of empty objects takes a hundred times as long as counting them, and no other call is served meanwhile.
 */
export const jsonText = {
  decode(bytes: Uint8Array): string {
    if (bytes.length > maxParts && hasTooManyParts(bytes)) throw new Error(tooManyParts)
    return utf8.decode(bytes)
  },
}

const [quote, comma, openArray, backslash, openObject, colon] = Buffer.from('",[\\{:')

/** How many parts a property has, besides its comma: its entry, its name and its value, as in protobuf. */
const partsOfProperty = 3

/** Counts commas, properties, and the beginnings of objects and arrays, outside of texts. There is at least a part for each. */
function hasTooManyParts(bytes: Uint8Array): boolean {
  let isText = false
  let parts = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isText) {
      if (byte === backslash) at++
      else if (byte === quote) isText = false
    } else if (byte === quote) isText = true
    else if (byte === colon) parts += partsOfProperty
    else if ((byte === comma || byte === openArray || byte === openObject) && ++parts > maxParts) return true
  }
  return false
}
