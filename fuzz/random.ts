import { randomNumbers } from "../bench/load/statistics.ts"

/** Choices that are the same for the same seed. */
export interface Random {
  /** A whole number from 0 up to, but not including, `end`. */
  below(end: number): number
  /** True in so great a share of the cases. */
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
