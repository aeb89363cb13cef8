import { failsBy, type StatementError } from "./query/statement-error.js"

/** How long the disk counts as full after a write that found no space, in milliseconds: at first, and at most. */
const firstMs = 5_000
const longestMs = 60_000

/** Knows whether the disk of the database is full, as far as statements have failed by it. */
export interface FullDisk {
  /** Takes a failure into account. */
  saw(error: unknown): void
  /** Throws the last failure while the disk counts as full. */
  check(): void
}

/**
 * Files of tables have free pages, so that on a full disk one write succeeds and another one does not. A write that
 * succeeds therefore says little. The disk counts as full for some time after the last failure, and for twice as long if
 * it fails again soon after that time.
 *
 * @param clock A monotonic time in milliseconds.
 */
export function fullDisk(clock = () => performance.now()): FullDisk {
  let last: StatementError | undefined
  let durationMs = firstMs
  let until = Number.NEGATIVE_INFINITY
  return {
    saw(error) {
      if (!failsBy(error, "full")) return
      const now = clock()
      if (now >= until) durationMs = now - until < longestMs ? Math.min(2 * durationMs, longestMs) : firstMs
      last = error
      until = now + durationMs
    },
    check() {
      if (last !== undefined && clock() < until) throw last
    },
  }
}
