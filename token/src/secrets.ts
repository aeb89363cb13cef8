/**
 * The secrets of a parameter `secret` in their order, without empty ones: an application may well name an old secret
 * that is no longer set.
 *
 * @throws TypeError if something else than a string is among them.
 */
export function usableSecrets(secret: string | readonly string[] | undefined): string[] {
  const secrets = typeof secret === "string" ? [secret] : (secret ?? [])
  return secrets.filter((one) => {
    if (one === undefined || one === null) return false
    if (typeof one !== "string") throw new TypeError("the parameter secret must be a string or a list of strings")
    return one !== ""
  })
}
