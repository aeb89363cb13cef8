/// <reference path="../cli-progress.d.ts" />
import { SingleBar } from "cli-progress"

/**
 * Shows a progress bar with an estimate during the work, on standard error if that is a terminal, else nothing. A signal
 * that ends the process ends the bar first, which has hidden the cursor.
 */
export async function withProgress<T>(
  title: string,
  total: number,
  work: (advance: (count: number) => void) => Promise<T>,
): Promise<T> {
  const bar = new SingleBar({
    format: `${title} [{bar}] {percentage}% | {value}/{total} rows | {duration_formatted}, {eta_formatted} left`,
    stream: process.stderr,
    noTTYOutput: false,
    etaBuffer: 100,
    hideCursor: true,
    // After a pause the estimate is wrong for a while, but the elapsed time stays correct.
    etaAsynchronousUpdate: true,
  })
  const signals = ["SIGINT", "SIGTERM"] as const
  const stop = () => {
    for (const signal of signals) process.off(signal, end)
    bar.stop()
  }
  const end = (signal: NodeJS.Signals) => {
    stop()
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.on(signal, end)
  bar.start(total, 0)
  try {
    return await work((count) => bar.increment(count))
  } finally {
    stop()
  }
}
