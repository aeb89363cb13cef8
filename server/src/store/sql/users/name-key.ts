import { foldAscii } from "./email-key.js"

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
