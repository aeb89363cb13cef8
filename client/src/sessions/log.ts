/** Writes an error to the console in the format of Auth.js's default logger. */
export function logError(error: Error): void {
  console.error("[auth][error]", error)
}

/** Writes an error to the console in the format of next-auth 4's default logger. */
export function logError4(code: string, error: Error): void {
  console.error(`[next-auth][error][${code}]`, error)
}
