/** Writes an error to the console in the format of Auth.js's default logger. */
export function logError(error: Error): void {
  console.error("[auth][error]", error)
}
