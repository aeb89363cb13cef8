import { fileProblemOf } from "./sqlite-code.js"

/** The error for an external problem that prevents the start. The message says what is wrong and how to fix it. */
export class StartError extends Error {
  override readonly name = "StartError"
}

/**
 * Returns the result of `work`. Converts an error of the operating system into a StartError that consists of the problem,
 * the code of the error, and the advice.
 */
export function orStartError<T>(problem: string, work: () => T, advice = ""): T {
  try {
    return work()
  } catch (error) {
    throw new StartError(`${problem} (${systemCodeOf(error)})${advice}`, { cause: error })
  }
}

/**
 * Returns the code of an error of the operating system, such as `ENOSPC`, what an error of SQLite about its file means,
 * or the error as text if it is neither.
 */
export function systemCodeOf(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return String(error)
  return fileProblemOf(error) ?? String(error.code)
}
