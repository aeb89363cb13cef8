import { InvalidValueError } from "../errors/invalid-value-error.js"

/** The longest secret, in bytes. */
export const maxSecretBytes = 16_384

/**
 * Returns the secret in a file or in the output of a program: the whole text in UTF-8, without one newline at its end.
 * Throws InvalidValueError if it is empty, too long or not UTF-8.
 */
export function secretText(content: Buffer): string {
  const secret = decoded(content)?.replace(/\r?\n$/, "")
  if (secret === undefined || secret === "" || Buffer.byteLength(secret) > maxSecretBytes) {
    throw new InvalidValueError(`must have 1 to ${maxSecretBytes} bytes of UTF-8`)
  }
  return secret
}

function decoded(content: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return undefined
  }
}
