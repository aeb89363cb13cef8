import type { Endpoints } from "../../contenders/contender.ts"
import type { ContenderName } from "../../contenders/contenders.ts"
import { startChild } from "../child.ts"
import type { Window } from "../closed-loop.ts"
import type { OperationName } from "../operations.ts"
import type { SoakOperationName } from "../soak-operations.ts"

export interface Measurement {
  operation: OperationName | SoakOperationName
  users: number
  callers: number
  warmUpMs: number
  windowMs: number
  /** The number of calls after which the window ends early. */
  calls?: number
  /** The seed of the keys. All contenders of a round have the same seed and therefore request the same keys. */
  seed: number
}

export type Request = { do: "check"; users: number } | ({ do: "measure"; pids: readonly number[] } & Measurement)

/** A contender in a process of its own, which also generates the load. */
export interface Side {
  readonly pid: number
  /** Throws if the contender does not find the expected data. */
  check(users: number): Promise<void>
  measure(measurement: Measurement): Promise<Window>
  stop(): Promise<void>
}

/** Starts a contender. `pids` are the processes whose CPU time is measured in addition to its own. */
export async function startSide(
  name: ContenderName,
  endpoints: Endpoints,
  pids: readonly number[],
  nodeArgs: readonly string[] = [],
): Promise<Side> {
  const { pid, ask, stop } = await startChild("side.ts", [name, JSON.stringify(endpoints)], { nodeArgs })
  const send = (request: Request) => ask(request)
  return {
    pid,
    stop,
    async check(users) {
      await send({ do: "check", users })
    },
    measure: (measurement) => send({ do: "measure", pids, ...measurement }) as Promise<Window>,
  }
}
