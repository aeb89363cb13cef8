import { readFile, stat } from "node:fs/promises"
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

/**
 * Reads the secret in a file, as secretText does. Throws InvalidValueError also if the path is not that of a file, because
 * a pipe or a device would be read without end, and the errors of reading.
 */
export async function readSecretFile(path: string, signal?: AbortSignal): Promise<string> {
  const found = await stat(path)
  if (!found.isFile() || found.size > maxSecretBytes + 2) {
    throw new InvalidValueError(`must be a file of at most ${maxSecretBytes} bytes`)
  }
  return secretText(await readFile(path, signal === undefined ? {} : { signal }))
}

/**
 * Returns what may be wrong with a secret that an application has too; undefined if nothing is. The answer does not quote
 * the secret. Programs that read a .env file remove quotes, blanks and comments, and some replace `$NAME`, while other
 * sources of variables leave them. Then an application and the service that were given the same line have different
 * secrets.
 */
export function doubtAbout(secret: string): string | undefined {
  const doubt = doubts.find(([form]) => form.test(secret))?.[1]
  return doubt && `${doubt}: does the application use exactly the same bytes?`
}

const doubts: readonly (readonly [form: RegExp, doubt: string])[] = [
  [/^\s|\s$/, "begins or ends with a blank or a line break"],
  [/^(["'`]).*\1$/s, "is in quotes"],
  [/\uFFFD|\p{Cc}/u, "contains bytes that are no text"],
  [/[#$]/, "contains # or $, which have a meaning in a .env file"],
]

function decoded(content: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return undefined
  }
}
