/** Writes an error as Auth.js does where an application has no logger of its own. */
export function logError(error: Error): void {
  console.error("[auth][error]", error)
}
