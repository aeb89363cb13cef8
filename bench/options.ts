import { parseArgs } from "node:util"
import { type ContenderName, contenderNames } from "./contenders/contenders.ts"
import { type OperationName, operationNames } from "./load/operations.ts"

/** What can be measured by itself: `token` by bench/token.ts, the others by bench/wire.ts. */
export const parts = ["token", "operations", "growth", "memory", "workers", "access"] as const

export type Part = (typeof parts)[number]

export interface Options {
  /** Only to see that everything works: the numbers mean nothing. */
  quick: boolean
  /** Prints, and leaves docs/performance.md and bench/results alone. */
  dry: boolean
  /** Makes the databases anew. */
  drop: boolean
  /** A running service for bench/token.ts to measure as well; or nothing. */
  url: string
  rounds: number | undefined
  /** Of one window. */
  seconds: number | undefined
  callers: number[] | undefined
  users: number | undefined
  contenders: ContenderName[]
  operations: OperationName[]
  /** Whether everything is to be measured, and the results are those of a full run. */
  full: boolean
  has(part: Part): boolean
}

/** The arguments of all programs that `make bench` starts: each takes from them what concerns it. */
export function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      dry: { type: "boolean", default: false },
      drop: { type: "boolean", default: false },
      url: { type: "string", default: process.env.AUTHWIRE_URL ?? "" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      callers: { type: "string" },
      users: { type: "string" },
      contenders: { type: "string" },
      only: { type: "string" },
    },
  })
  const { quick, dry, drop, url, rounds, seconds, callers, users } = values
  const contenders = chosen("contenders", values.contenders, contenderNames)
  const only = chosen("only", values.only, [...parts, ...operationNames])
  return {
    ...{ quick, drop, url, contenders },
    full: values.only === undefined && values.contenders === undefined,
    dry: dry || quick,
    rounds: number("rounds", rounds),
    seconds: number("seconds", seconds),
    callers: callers?.split(",").map((count) => number("callers", count) as number),
    users: number("users", users),
    operations: only.includes("operations")
      ? operationNames
      : operationNames.filter((operation) => only.includes(operation)),
    has: (part) => only.includes(part),
  }
}

function number(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${option}: must be a number above 0`)
  return value
}

function chosen<Name extends string>(option: string, list: string | undefined, known: readonly Name[]): Name[] {
  const asked = list?.split(",").map((name) => name.trim()) ?? known
  const unknown = asked.filter((name) => !known.includes(name as Name))
  if (unknown.length > 0) throw new Error(`--${option}: no ${unknown.join(", ")}; there is ${known.join(", ")}`)
  return known.filter((name) => asked.includes(name))
}
