import { readFileSync } from "node:fs"
import { InvalidValueError } from "../util/invalid-value-error.js"
import { StartError } from "./start-error.js"

/** Returns the text of a file. Throws StartError if the file cannot be read or `check` rejects its text. */
export function readGiven(flag: string, path: string, check: (text: string) => unknown): string {
  try {
    const text = readFileSync(path, "utf8")
    check(text)
    return text
  } catch (error) {
    if (error instanceof InvalidValueError) throw new StartError(`${flag}: ${error.message}`)
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error)
    throw new StartError(`${flag}: cannot read ${path} (${code})`, { cause: error })
  }
}
