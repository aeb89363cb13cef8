import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import type { Places } from "../contenders/contender.ts"
import type { ContenderName } from "../contenders/contenders.ts"
import type { Window } from "./closed-loop.ts"
import type { OperationName } from "./operations.ts"

export interface Measurement {
  operation: OperationName
  users: number
  callers: number
  warmUpMs: number
  windowMs: number
  /** The same for all contenders of a round: they ask for the same keys. */
  seed: number
  /** Verification tokens made before. */
  batch: string
  batchSize: number
}

export type Request = { do: "check"; users: number } | ({ do: "measure"; pids: readonly number[] } & Measurement)
export type Response = { done: true } | { window: Window } | { error: string }

/** A contender in a process of its own, and the processes that work for it. */
export interface Side {
  readonly name: ContenderName
  /** The load generator. */
  readonly pid: number
  /** Throws if the contender does not find the data as it should be. */
  check(users: number): Promise<void>
  measure(measurement: Measurement): Promise<Window>
  stop(): Promise<void>
}

/** Starts one. `pids`: of the processes whose CPU is to be told beside its own. */
export async function startSide(
  name: ContenderName,
  places: Places,
  pids: readonly number[],
  nodeArgs: readonly string[] = [],
): Promise<Side> {
  const child = fork(new URL("./side.ts", import.meta.url), [name, JSON.stringify(places)], {
    execArgv: ["--disable-warning=ExperimentalWarning", ...nodeArgs],
    env: { ...process.env, NODE_ENV: "production", NODE_OPTIONS: "" },
  })
  await answerOf(child, name)
  const ask = async (request: Request) => {
    const answer = answerOf(child, name)
    child.send(request)
    const response = await answer
    if ("error" in response) throw new Error(`${name}: ${response.error}`)
    return response
  }
  return {
    name,
    pid: child.pid as number,
    async check(users) {
      await ask({ do: "check", users })
    },
    async measure(measurement) {
      const response = await ask({ do: "measure", pids, ...measurement })
      if (!("window" in response)) throw new Error(`${name} did not measure`)
      return response.window
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, "exit")
      child.disconnect()
      await ended
    },
  }
}

async function answerOf(child: ChildProcess, name: string): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>()
  const ended = () => reject(new Error(`the process of ${name} ended`))
  child.once("message", resolve).once("exit", ended)
  try {
    return await promise
  } finally {
    child.off("message", resolve).off("exit", ended)
  }
}
