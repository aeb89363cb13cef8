/**
 * Returns the secrets of the parameter `secret` in their order, without empty ones. These are allowed because an
 * application may list an old secret that is no longer set.
 *
 * @throws TypeError if a secret is not a string.
 */
export function usableSecrets(secret: string | readonly string[] | undefined): string[] {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  return secrets.filter((one) => {
    if (one === undefined || one === null) return false
    if (typeof one !== "string") throw new TypeError("the parameter secret must be a string or a list of strings")
    return one !== ""
  }) as string[]
}
