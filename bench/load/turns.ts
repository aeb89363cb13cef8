import type { Window } from "./closed-loop.ts"
import type { OperationName } from "./operations.ts"
import type { Side } from "./sides.ts"
import { median, randomNumbers } from "./statistics.ts"

/** A side that takes turns with others, under the name that the result has. */
export interface Turn {
  readonly name: string
  readonly side: Side
  readonly users: number
  /** Makes verification tokens before a window; the name of their batch. */
  prepare?(batch: string, count: number): Promise<void>
}

/** What was measured of one name: its median over the rounds, and the rounds. */
export interface Figure {
  operation: OperationName
  name: string
  callers: number
  /** Milliseconds, calls a second, seconds of CPU for 10,000 calls. */
  p50: number
  p99: number
  throughput: number
  clientCpu: number
  serverCpu: (number | null)[]
  rounds: { p50: number[]; p99: number[]; throughput: number[] }
}

export interface Pace {
  rounds: number
  warmUpMs: number
  windowMs: number
}

// Enough for the fastest with a disk that is faster than any.
const tokensPerSecond = (callers: number) => (callers === 1 ? 6_000 : 24_000)

/**
 * Measures an operation with a number of callers: round after round, in each of which everyone has one window, in an
 * order that changes. What else the machine does meets all alike, and figures of one round can be compared.
 */
export async function takeTurns(
  turns: readonly Turn[],
  operation: OperationName,
  callers: number,
  pace: Pace,
): Promise<Figure[]> {
  const windows = new Map<string, Window[]>(turns.map(({ name }) => [name, []]))
  for (let round = 0; round < pace.rounds; round++) {
    const random = randomNumbers(round + callers * 1000)
    for (const turn of turns.toSorted(() => random() - 0.5)) {
      const window = await measure(turn, operation, callers, { ...pace, seed: round + 1 })
      windows.get(turn.name)?.push(window)
    }
  }
  return turns.map(({ name }) => figure(operation, name, callers, windows.get(name) ?? []))
}

/** Lets everyone become as fast as they get. */
export async function warmUp(turns: readonly Turn[], operation: OperationName, ms: number): Promise<void> {
  for (const turn of turns) await measure(turn, operation, 32, { warmUpMs: ms / 2, windowMs: ms / 2, seed: 0 })
}

async function measure(
  { name, side, users, prepare }: Turn,
  operation: OperationName,
  callers: number,
  { warmUpMs, windowMs, seed }: { warmUpMs: number; windowMs: number; seed: number },
): Promise<Window> {
  const batch = `${name}.${callers}.${seed}`
  const batchSize = Math.ceil((tokensPerSecond(callers) * (warmUpMs + windowMs)) / 1000)
  await prepare?.(batch, batchSize)
  return side.measure({ operation, users, callers, warmUpMs, windowMs, seed, batch, batchSize })
}

function figure(operation: OperationName, name: string, callers: number, windows: readonly Window[]): Figure {
  const of = (value: (window: Window) => number) => windows.map(value)
  const middle = (value: (window: Window) => number) => digits(median(of(value)))
  const servers = windows[0]?.serverCpu ?? []
  return {
    operation,
    name,
    callers,
    p50: middle(({ p50 }) => p50),
    p99: middle(({ p99 }) => p99),
    throughput: middle(({ throughput }) => throughput),
    clientCpu: middle(({ clientCpu }) => clientCpu),
    serverCpu: servers.map((cpu, index) =>
      cpu === null ? null : middle(({ serverCpu }) => serverCpu[index] ?? Number.NaN),
    ),
    rounds: {
      p50: of(({ p50 }) => digits(p50)),
      p99: of(({ p99 }) => digits(p99)),
      throughput: of(({ throughput }) => digits(throughput)),
    },
  }
}

/** As much of a number as means something. */
function digits(value: number): number {
  return Number(value.toPrecision(4))
}
