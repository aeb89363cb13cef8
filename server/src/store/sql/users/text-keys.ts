/**
 * Returns the key by which e-mail addresses are compared: the address without surrounding ASCII white space and with
 * ASCII letters in lower case. Nothing else is folded: `ı`, `K` (Kelvin) and `é` differ from `i`, `k` and `e`, because
 * an address that only looks like a user's must not be taken for it. Returns undefined for a blank address.
 */
export function emailKey(email: string | undefined): string | undefined {
  const key = email === undefined ? "" : foldAscii(email.replace(/^[\t-\r ]+|[\t-\r ]+$/g, ""))
  return key === "" ? undefined : key
}

/** The most characters of a name that are compared, because an entry of an index has a limited length. */
export const nameKeyCharacters = 128

/**
 * Returns the key by which the beginnings of names are compared: the beginning of the name without white space before it, with
 * ASCII letters in lower case. Nothing else is folded, as in `emailKey`. Returns undefined if there is no name.
 */
export function nameKey(name: string | undefined): string | undefined {
  // A character of Unicode takes up to two of JavaScript.
  const begin = name?.replace(/^[\t-\r ]+/, "").slice(0, 2 * nameKeyCharacters)
  return begin === undefined ? undefined : foldAscii([...begin].slice(0, nameKeyCharacters).join(""))
}

/** Returns a text with its ASCII letters in lower case. */
function foldAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
