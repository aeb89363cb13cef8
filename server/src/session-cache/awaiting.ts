import { longest } from "./hub.js"

/** What a process has said of its clients of the tenant; see OwnRow. */
export interface CacheRow {
  leaseMs: number
  confirmed: bigint
}

export interface AwaitingOptions {
  /** See ChangeFeed. */
  reach: () => Promise<bigint>
  /** The rows of all processes whose clients may use what they keep. */
  rows: () => Promise<readonly CacheRow[]>
  /** A clock for durations, in milliseconds. */
  now: () => number
  /** Rejects with the reason of the signal if that aborts before. */
  pause: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

/** How often the rows are read, in milliseconds. */
const pauseMs = 20

/**
 * Waits until no client of the tenant, of any process, uses what it kept of what was committed before this call. For each
 * process, that is when its clients have confirmed it; and at the latest when the longest lease of that process has passed: a
 * ping that came after the commit was answered behind the news of it.
 *
 * Rejects with the signal's reason. While the rows cannot be read it waits.
 */
export async function cachesConfirmed(options: AwaitingOptions, signal: AbortSignal | undefined): Promise<void> {
  const { reach, rows, now, pause } = options
  const begun = now()
  let sequence: bigint | undefined
  let asks = true
  for (;;) {
    const at = now()
    // A process that has no row yet has no client that keeps what was read before this.
    const found = await rows().catch(() => undefined)
    const isOpen = ({ leaseMs, confirmed }: CacheRow) =>
      at < begun + longest(leaseMs) && (sequence === undefined || confirmed < sequence)
    if (found !== undefined && !found.some(isOpen)) return
    if (asks) {
      asks = false
      reach().then(
        (reached) => {
          sequence = reached
        },
        // Then the leases have to run out.
        () => {},
      )
    }
    await pause(pauseMs, signal)
  }
}
