/** How long lines may take that are still to be written when the process has nothing else to do, in milliseconds. */
export const lastLinesMs = 1_000

/**
 * Lets this process end, with its exit code, when only lines that nobody reads keep it. Until then it ends by itself as
 * soon as they are written.
 */
export function endEvenUnread(): void {
  setTimeout(() => process.exit(), lastLinesMs).unref()
}
