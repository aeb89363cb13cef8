import { readFileSync } from "node:fs"
import { InvalidValueError } from "../errors/invalid-value-error.js"
import { StartError } from "../errors/start-error.js"
import { systemCodeOf } from "../errors/system-code.js"

/** Returns the text of a file. Throws StartError if the file cannot be read or `check` rejects its text. */
export function readGiven(flag: string, path: string, check: (text: string) => unknown): string {
  try {
    const text = readFileSync(path, "utf8")
    check(text)
    return text
  } catch (error) {
    if (error instanceof InvalidValueError) throw new StartError(`${flag}: ${error.message}`)
    throw new StartError(`${flag}: cannot read ${path} (${systemCodeOf(error)})`, { cause: error })
  }
}
