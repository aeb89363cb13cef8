/**
 * Returns the key by which e-mail addresses are compared: the address without surrounding ASCII white space and with
 * ASCII letters in lower case. Nothing else is folded: `ı`, `K` (Kelvin) and `é` differ from `i`, `k` and `e`, because
 * an address that only looks like a user's must not be taken for it. Returns undefined for a blank address.
 */
export function emailKey(email: string | undefined): string | undefined {
  const key = email?.replace(/^[\t-\r ]+|[\t-\r ]+$/g, "").replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  return key === "" ? undefined : key
}
