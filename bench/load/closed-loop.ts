import { cpuSeconds } from "./cpu.ts"
import type { Call } from "./operations.ts"
import { percentile } from "./statistics.ts"

/** What was measured in one window of time. */
export interface Window {
  calls: number
  seconds: number
  /** Calls a second. */
  throughput: number
  /** Milliseconds of a call. */
  p50: number
  p99: number
  /** Seconds of CPU for 10,000 calls: of this process, and of each process that was named, where it can be known. */
  clientCpu: number
  serverCpu: (number | null)[]
}

/**
 * Runs callers that each make the next call when their last one is answered: first for a while that does not count, then
 * for the window. A call counts in the window in which it ends.
 */
export async function closedLoop(options: {
  call: Call
  callers: number
  warmUpMs: number
  windowMs: number
  pids: readonly number[]
}): Promise<Window> {
  const { call, callers, warmUpMs, windowMs, pids } = options
  const times: number[] = []
  let begin = performance.now() + warmUpMs
  let end = Number.POSITIVE_INFINITY
  let before: ReturnType<typeof cpu> | undefined
  let after: ReturnType<typeof cpu> | undefined
  let failure: unknown

  function ended(start: number, now: number) {
    if (before === undefined) {
      if (now < begin) return
      before = cpu(pids)
      begin = performance.now()
      end = begin + windowMs
    } else if (after === undefined) {
      times.push(now - start)
      if (now >= end) stop(now)
    }
  }

  function stop(now: number) {
    if (after !== undefined) return
    end = now
    after = cpu(pids)
  }

  async function caller() {
    while (after === undefined && failure === undefined) {
      const start = performance.now()
      try {
        const answer = await call()
        const now = performance.now()
        if (answer === false) stop(now)
        else ended(start, now)
      } catch (error) {
        failure ??= error
      }
    }
  }

  await Promise.all(Array.from({ length: callers }, caller))
  if (failure !== undefined) throw failure
  if (before === undefined || after === undefined || times.length === 0) throw new Error("the window saw no call")
  const sorted = Float64Array.from(times).sort()
  const seconds = (end - begin) / 1000
  const [first, last] = [before, after]
  const perTenThousand = (from: number, to: number) => ((to - from) / times.length) * 10_000
  return {
    calls: times.length,
    seconds,
    throughput: times.length / seconds,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
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
