import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { InvalidValueError } from "../errors/invalid-value-error.js"
import { readRegularFile } from "../util/given-file.js"
import { secretText } from "../util/secret-text.js"
import { utf8Fault } from "../util/utf8.js"

/** The sources of secrets. */
export interface SecretSources {
  env: Readonly<Record<string, string | undefined>>
  /** The folder to which relative paths in the file refer. */
  folder: string
}

/**
 * Returns a function that returns the current secret.
 *
 * @param source The name of an environment variable, or the path of a file.
 * @param check Throws InvalidValueError if the secret cannot be used.
 */
export function secretOf(
  label: string,
  source: string,
  isFile: boolean,
  { env, folder }: SecretSources,
  check: (secret: string) => void = () => {},
): () => Promise<string> {
  const checked = (secretIn: () => string): string => {
    try {
      const secret = secretIn()
      check(secret)
      return secret
    } catch (error) {
      if (error instanceof InvalidValueError) throw new InvalidValueError(`${label}: ${error.message}`)
      throw error
    }
  }
  if (!isFile) {
    const given = env[source]
    if (!given) throw new InvalidValueError(`${label}: the environment variable is not set or empty`)
    const fault = utf8Fault(given)
    if (fault !== undefined) throw new InvalidValueError(`${label}: ${fault}`)
    const secret = checked(() => given)
    return async () => secret
  }
  const path = resolve(folder, source)
  let known: string
  try {
    known = checked(() => secretText(readRegularFile(path)))
  } catch (error) {
    if (error instanceof InvalidValueError) throw error
    const { code = "unknown" } = error as NodeJS.ErrnoException
    throw new InvalidValueError(`${label}: the file cannot be read (${code})`)
  }
  let reading: Promise<string> | undefined
  // A replaced secret is used at once. While the file is missing, as it is briefly during a replacement, the last
  // secret is used.
  const read = async () => {
    try {
      const content = await readFile(path)
      known = checked(() => secretText(content))
    } catch {}
    reading = undefined
    return known
  }
  // Concurrent refreshes share one read, because each read of a file system that does not answer blocks a thread of
  // Node's thread pool. Four of them would block the whole process.
  return () => {
    reading ??= read()
    return reading
  }
}
