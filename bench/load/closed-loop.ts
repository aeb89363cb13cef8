import { cpuSeconds } from "./cpu.ts"
import type { Call } from "./operations.ts"
import { openTimes } from "./statistics.ts"

/** The measurements of one window of time. */
export interface Window {
  calls: number
  seconds: number
  /** Calls per second. */
  throughput: number
  /** Percentiles of the time of a call, in milliseconds. */
  p50: number
  p99: number
  /** CPU seconds per 10,000 calls: of this process, and of each process in `pids`, or null where unknown. */
  clientCpu: number
  serverCpu: (number | null)[]
}

/**
 * Runs callers that each make the next call as soon as the previous one is answered. The warm-up does not count. The
 * window ends after `windowMs`, or after `calls` calls in total. A call counts in the window in which it ends. Rejects
 * with the first call that fails.
 */
export async function closedLoop(options: {
  call: Call
  callers: number
  warmUpMs: number
  windowMs: number
  calls?: number
  pids: readonly number[]
}): Promise<Window> {
  const { call, callers, warmUpMs, windowMs, calls = Number.POSITIVE_INFINITY, pids } = options
  const times = openTimes()
  let begun = 0
  let begin = performance.now() + warmUpMs
  let end = Number.POSITIVE_INFINITY
  let before: ReturnType<typeof cpu> | undefined
  let after: ReturnType<typeof cpu> | undefined
  let hasFailed = false

  async function caller() {
    while (after === undefined && !hasFailed && begun++ < calls) {
      const start = performance.now()
      await call()
      const now = performance.now()
      if (before === undefined && now >= begin) {
        before = cpu(pids)
        begin = now
        end = begin + windowMs
      } else if (before !== undefined && after === undefined) {
        times.add(now - start)
        if (now < end) continue
        end = now
        after = cpu(pids)
      }
    }
  }

  const fail = (error: unknown) => {
    hasFailed = true
    throw error
  }
  const ends = await Promise.allSettled(Array.from({ length: callers }, () => caller().catch(fail)))
  const failure = ends.find((end) => end.status === "rejected")
  if (failure !== undefined) throw failure.reason
  after ??= cpu(pids)
  end = Math.min(end, performance.now())
  const count = times.count()
  if (before === undefined || count === 0) throw new Error("the window saw no call")
  const seconds = (end - begin) / 1000
  const [first, last] = [before as ReturnType<typeof cpu>, after]
  const perTenThousand = (from: number, to: number) => ((to - from) / count) * 10_000
  return {
    calls: count,
    seconds,
    throughput: count / seconds,
    p50: times.percentile(50),
    p99: times.percentile(99),
    clientCpu: perTenThousand(first.own, last.own),
    serverCpu: pids.map((_, index) => {
      const [from, to] = [first.others[index], last.others[index]]
      return from == null || to == null ? null : perTenThousand(from, to)
    }),
  }
}

function cpu(pids: readonly number[]) {
  const { user, system } = process.cpuUsage()
  return { own: (user + system) / 1e6, others: pids.map(cpuSeconds) }
}
