/**
 * What two e-mail addresses that are the same have in common: the address without ASCII white space around it and with
 * ASCII letters in lower case. Nothing else is folded: `ı`, `K` (Kelvin) and `é` are other letters than `i`, `k` and
 * `e`, and an address that only looks like somebody's must not be taken for it. Undefined for one that is blank.
 */
export function emailKey(email: string | undefined): string | undefined {
  const key = email?.replace(/^[\t-\r ]+|[\t-\r ]+$/g, "").replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  return key === "" ? undefined : key
}
