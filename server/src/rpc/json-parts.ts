const [quote, comma, openArray, backslash, openObject, colon] = Buffer.from('",[\\{:')

/** How many parts a property has, besides its comma: its entry, its name and its value, as in protobuf. */
const partsOfProperty = 3

/**
 * Returns whether a text in JSON has more than `most` parts. Counts commas, properties, and the beginnings of objects and
 * arrays, outside of texts. There is at least a part for each.
 */
export function hasTooManyJsonParts(bytes: Uint8Array, most: number): boolean {
  if (bytes.length <= most) return false
  let isText = false
  let parts = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isText) {
      if (byte === backslash) at++
      else if (byte === quote) isText = false
    } else if (byte === quote) isText = true
    else if (byte === colon) parts += partsOfProperty
    else if ((byte === comma || byte === openArray || byte === openObject) && ++parts > most) return true
  }
  return false
}

/** Returns whether a field mask in JSON, which is one text, has more than `most` paths. */
export function hasTooManyPaths(mask: string, most: number): boolean {
  if (mask.length < most) return false
  let paths = 1
  for (let at = mask.indexOf(","); at >= 0 && paths <= most; at = mask.indexOf(",", at + 1)) paths++
  return paths > most
}
