import { parseArgs } from "node:util"
import { contenderNames } from "./contenders/contenders.ts"
import { operationNames } from "./load/operations.ts"

/** Reads the arguments of the programs that `make bench` starts. Each program uses those that apply to it. */
export function readOptions() {
  const { values } = parseArgs({
    options: {
      /** A short run that only shows that everything works. Its numbers mean nothing. */
      quick: { type: "boolean", default: false },
      /** Prints only, without changing bench/results.md and bench/results. */
      dry: { type: "boolean", default: false },
      /** The URL of a running service that bench/token.ts also measures; empty for none. */
      url: { type: "string", default: process.env.AUTHWIRE_URL ?? "" },
      rounds: { type: "string" },
      /** The length of one window in seconds. */
      seconds: { type: "string" },
      callers: { type: "string" },
      users: { type: "string" },
      contenders: { type: "string" },
      only: { type: "string" },
    },
  })
  const { quick, dry, url } = values
  const number = (option: "rounds" | "seconds" | "users") => numbers(option, values[option])?.[0]
  const only = chosen("only", values.only, ["token", "operations", "growth", ...operationNames])
  return {
    ...{ quick, url },
    dry: dry || quick,
    rounds: number("rounds"),
    seconds: number("seconds"),
    callers: numbers("callers", values.callers),
    users: number("users"),
    contenders: chosen("contenders", values.contenders, contenderNames),
    operations: operationNames.filter((operation) => only.includes("operations") || only.includes(operation)),
    /** Whether everything is measured, so that the results are those of a full run. */
    full: [values.only, values.contenders, values.callers].every((value) => value === undefined),
    /** Whether a part is measured. */
    has: (part: "token" | "growth") => only.includes(part),
  }
}

function numbers(option: string, text: string | undefined): number[] | undefined {
  const values = text?.split(",").map(Number)
  if (values?.some((value) => !(value > 0))) throw new Error(`--${option}: must be above 0`)
  return values
}

function chosen<Name extends string>(option: string, list: string | undefined, known: readonly Name[]): Name[] {
  // Some names contain a comma and a space.
  const asked = list?.split(/,(?! )/) ?? known
  const unknown = asked.filter((name) => !known.includes(name as Name))
  if (unknown.length > 0) throw new Error(`--${option}: no ${unknown.join(", ")}; there is ${known.join(", ")}`)
  return known.filter((name) => asked.includes(name))
}
