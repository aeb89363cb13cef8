/** How long the process waits for unwritten lines when it has nothing else to do, in milliseconds. */
export const exitFlushMs = 1_000

/**
 * Ends this process, with its exit code, if only unwritten lines without a reader keep it running. The process ends
 * earlier as soon as they are written.
 */
export function exitAfterPendingLines(): void {
  setTimeout(() => process.exit(), exitFlushMs).unref()
}
