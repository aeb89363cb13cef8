import { fileProblemOf } from "./sqlite-code.js"

/**
 * Returns the code of an error of the operating system, such as `ENOSPC`, what an error of SQLite about its file means,
 * or the error as text if it is neither.
 */
export function systemCodeOf(error: unknown): string {
  if (!(error instanceof Error && "code" in error)) return String(error)
  return fileProblemOf(error as { code?: string }) ?? String(error.code)
}
