/**
 * Returns the key by which e-mail addresses are compared: the address without surrounding ASCII white space and with
 * ASCII letters in lower case. Nothing else is folded: `ı`, `K` (Kelvin) and `é` differ from `i`, `k` and `e`, because
 * an address that only looks like a user's must not be taken for it. Returns undefined for a blank address.
 */
export function emailKey(email: string | undefined): string | undefined {
  const key = email === undefined ? "" : foldAscii(email.replace(/^[\t-\r ]+|[\t-\r ]+$/g, ""))
  return key === "" ? undefined : key
}

/** Returns a text with its ASCII letters in lower case. */
export function foldAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
