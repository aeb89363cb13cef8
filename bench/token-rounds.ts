import { type ChildProcess, fork } from "node:child_process"

/** Microseconds of a call in one round, by side and name: `"auth-core encode"`. */
export type Round = Record<string, number>

const names: Record<string, string[]> = {
  "auth-core": ["encode", "decode", "encode32", "decode32"],
  authwire: ["encode", "decode", "first", "second", "encode32", "decode32"],
  jose: ["encode", "decode"],
  "node-crypto": ["encode", "decode"],
  remote: ["decode", "decode32"],
}

/** The first rounds warm the processes up and are not in the result. */
const warmUp = 10

/**
 * Starts a process for each side and lets them measure in turn. A round takes half a second: the speed of a machine that
 * is not alone changes, and so is more or less the same for all sides of one round.
 */
export async function measure(count: number, url: string): Promise<Round[]> {
  const sides = Object.keys(names).filter((side) => side !== "remote" || url !== "")
  const processes = new Map(
    sides.map((side) => [side, fork(new URL("./token-side.ts", import.meta.url), [side, url], { execArgv: [] })]),
  )
  try {
    const rounds: Round[] = []
    for (let round = 0; round < warmUp + count; round++) {
      const result: Round = {}
      // Every other round the other way round, and call by call, so that both sides of a ratio are close in time.
      const calls = [...new Set(sides.flatMap((side) => names[side] ?? []))]
      const order = round % 2 === 0 ? sides : sides.toReversed()
      for (const name of round % 2 === 0 ? calls : calls.toReversed()) {
        for (const side of order) {
          if (!names[side]?.includes(name)) continue
          result[`${side} ${name}`] = await ask(processes.get(side) as ChildProcess, name)
        }
      }
      if (round >= warmUp) rounds.push(result)
    }
    return rounds
  } finally {
    for (const child of processes.values()) child.disconnect()
  }
}

async function ask(child: ChildProcess, name: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const answered = (microseconds: unknown) => resolve(Number(microseconds))
  const ended = () => reject(new Error(`a side ended during ${name}`))
  child.once("message", answered).once("exit", ended)
  try {
    child.send(name)
    return await promise
  } finally {
    child.off("message", answered).off("exit", ended)
  }
}
