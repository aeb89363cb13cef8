/** Returns the code of an error of the operating system, such as `ENOSPC`, or the error as text if it has none. */
export function systemCodeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error)
}
