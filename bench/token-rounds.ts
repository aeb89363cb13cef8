import { type ChildProcess, fork } from "node:child_process"

/** Microseconds of a call in one round, by side and name: `"auth-core encode"`. */
export type Round = Record<string, number>

// Calls at the same time run in processes of their own (`32`): they leave all threads of a pool awake.
const names: Record<string, string[]> = {
  "auth-core": ["encode", "decode"],
  authwire: ["encode", "decode", "first", "second"],
  jose: ["encode", "decode"],
  "node-crypto": ["encode", "decode"],
  remote: ["decode"],
  "auth-core32": ["encode", "decode"],
  authwire32: ["encode", "decode"],
  remote32: ["decode"],
}

/** The first rounds warm the processes up and are not in the result. */
const warmUp = 10

/**
 * Starts a process for each side and lets them measure in turn. A round takes half a second: the speed of a machine that
 * is not alone changes, and so is more or less the same for all sides of one round.
 */
export async function measure(count: number, url: string): Promise<Round[]> {
  const sides = Object.keys(names).filter((side) => !side.startsWith("remote") || url !== "")
  const processes = new Map(
    sides.map((side) => [side, fork(new URL("./token-side.ts", import.meta.url), [side, url], { execArgv: [] })]),
  )
  try {
    const rounds: Round[] = []
    for (let round = 0; round < warmUp + count; round++) {
      const result: Round = {}
      // In any order: what ran before leaves threads and caches in a state that helps one and hinders another.
      for (const [side, name] of shuffled(
        sides.flatMap((side) => names[side]?.map((name) => [side, name] as const) ?? []),
      )) {
        result[`${side} ${name}`] = await ask(processes.get(side) as ChildProcess, name)
      }
      if (round >= warmUp) rounds.push(result)
    }
    return rounds
  } finally {
    for (const child of processes.values()) child.disconnect()
  }
}

function shuffled<T>(list: T[]): T[] {
  const keyed = list.map((item) => ({ item, key: Math.random() }))
  return keyed.toSorted((one, other) => one.key - other.key).map(({ item }) => item)
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
