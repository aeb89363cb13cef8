/**
 * Decodes text that comes from outside. Throws TypeError for bytes that are not UTF-8: a decoder that replaces them would change
 * the text, and make texts that differ equal. A byte-order mark at the beginning is removed.
 */
export const utf8 = new TextDecoder("utf-8", { fatal: true })

/**
 * Returns the rule that a text of the command line or the environment breaks in which Node has put U+FFFD in place of bytes that
 * are not UTF-8. Another text would be stored, and secrets that differ would be equal.
 */
export function utf8Fault(text: string): string | undefined {
  return text.includes("\ufffd") ? "must be UTF-8, without the character U+FFFD" : undefined
}

/** Reads the query of a URL, or a form. Undefined if what is encoded with % is not UTF-8. */
export function queryOf(text: string): URLSearchParams | undefined {
  try {
    decodeURIComponent(text.replaceAll(/%(?![\da-f]{2})/gi, "%25"))
  } catch {
    return undefined
  }
  return new URLSearchParams(text)
}
