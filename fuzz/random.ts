import { randomNumbers } from "../bench/load/statistics.ts"

/** Random choices that are determined by a seed. */
export interface Random {
  /** Returns an integer from 0 (inclusive) to `end` (exclusive). */
  below(end: number): number
  /** Returns true with the probability `share`. */
  chance(share: number): boolean
  pick<T>(choices: readonly T[]): T
  bytes(length: number): Buffer
}

export function randomOf(seed: number): Random {
  const next = randomNumbers(seed)
  const below = (end: number) => Math.floor(next() * end)
  return {
    below,
    chance: (share) => next() < share,
    pick: <T>(choices: readonly T[]) => choices[below(choices.length)] as T,
    bytes: (length) => {
      const bytes = Buffer.allocUnsafe(length)
      for (let at = 0; at < length; at++) bytes[at] = below(256)
      return bytes
    },
  }
}
