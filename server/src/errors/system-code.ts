import { fileProblemOf } from "./sqlite-code.js"

/**
 * Returns the code of an error of the operating system, such as `ENOSPC`, what an error of SQLite about its file means,
 * or the error as text if it is neither.
 */
export function systemCodeOf(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return String(error)
  return fileProblemOf(error) ?? String(error.code)
}
