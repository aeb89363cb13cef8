import type { Window } from "./closed-loop.ts"
import type { OperationName } from "./operations.ts"
import type { Side } from "./sides/start-side.ts"
import { median, randomNumbers } from "./statistics.ts"

/** A side that takes turns with others, and its name in the results. */
export interface Turn {
  readonly name: string
  readonly side: Side
  readonly users: number
}

const measures = ["p50", "p99", "throughput"] as const

/** The measurements of one name: the median over the rounds, and the value of each round. */
export interface Figure {
  operation: OperationName
  name: string
  callers: number
  /** Milliseconds, calls per second, and CPU seconds per 10,000 calls. */
  p50: number
  p99: number
  throughput: number
  clientCpu: number
  serverCpu: (number | null)[]
  rounds: Record<(typeof measures)[number], number[]>
}

export interface Pace {
  rounds: number
  warmUpMs: number
  windowMs: number
}

/**
 * Measures an operation with a number of callers. In each round every side has one window, and their order changes.
 * Other load on the machine then affects all sides alike, so that the figures of one round can be compared.
 */
export async function takeTurns(
  turns: readonly Turn[],
  operation: OperationName,
  callers: number,
  { rounds, ...pace }: Pace,
): Promise<Figure[]> {
  const windows = new Map<string, Window[]>(turns.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    const random = randomNumbers(round + callers * 1000)
    for (const { name, side, users } of turns.toSorted(() => random() - 0.5)) {
      windows.get(name)?.push(await side.measure({ operation, users, callers, seed: round + 1, ...pace }))
    }
  }
  return turns.map(({ name }) => figure(operation, name, callers, windows.get(name) ?? []))
}

/** Runs each side until it has reached its full speed. */
export async function warmUp(turns: readonly Turn[], operation: OperationName, ms: number): Promise<void> {
  const half = { warmUpMs: ms / 2, windowMs: ms / 2 }
  for (const { side, users } of turns) await side.measure({ operation, users, callers: 32, seed: 0, ...half })
}

function figure(operation: OperationName, name: string, callers: number, windows: readonly Window[]): Figure {
  const of = (value: (window: Window) => number) => windows.map((window) => digits(value(window)))
  const rounds = Object.fromEntries(measures.map((one) => [one, of((window) => window[one])])) as Figure["rounds"]
  return {
    ...{ operation, name, callers },
    p50: digits(median(rounds.p50)),
    p99: digits(median(rounds.p99)),
    throughput: digits(median(rounds.throughput)),
    clientCpu: digits(median(of(({ clientCpu }) => clientCpu))),
    serverCpu: (windows[0]?.serverCpu ?? []).map((cpu, index) =>
      cpu === null ? null : digits(median(of(({ serverCpu }) => serverCpu[index] ?? Number.NaN))),
    ),
    rounds,
  }
}

/** Rounds a number to its significant digits. */
function digits(value: number): number {
  return Number(value.toPrecision(4))
}
