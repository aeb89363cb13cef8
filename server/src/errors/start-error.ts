import { fileProblemOf } from "./refusal.js"

/** The error for an external problem that prevents the start. The message says what is wrong and how to fix it. */
export class StartError extends Error {
  override readonly name = "StartError"
}

/** Returns the result of `work`. An error of the system becomes a StartError: problem, code and advice. */
export function orStartError<T>(problem: string, work: () => T, advice = ""): T {
  try {
    return work()
  } catch (error) {
    throw new StartError(`${problem} (${systemCodeOf(error)})${advice}`, { cause: error })
  }
}

/** Returns the code of an error of the system, or what one of SQLite about its file means; else its text. */
export function systemCodeOf(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return String(error)
  return fileProblemOf(error) ?? String(error.code)
}
