import { SingleBar } from "cli-progress"

/** How far a piece of work is. */
export interface Progress {
  advance(count: number): void
  stop(): void
}

/** A bar with an estimate on standard error, where that is a terminal; nothing elsewhere. */
export function progressBar(title: string, total: number): Progress {
  const bar = new SingleBar({
    format: `${title} [{bar}] {percentage}% | {value}/{total} rows | {duration_formatted}, {eta_formatted} left`,
    stream: process.stderr,
    noTTYOutput: false,
    etaBuffer: 100,
    hideCursor: true,
    // An estimate is wrong for a while after a pause; the time on the clock is not.
    etaAsynchronousUpdate: true,
  })
  bar.start(total, 0)
  return { advance: (count) => bar.increment(count), stop: () => bar.stop() }
}
