import type { OperationName } from "../load/operations.ts"
import { type Figure, type Pace, type Turn, takeTurns, warmUp } from "../load/turns.ts"
import type { Stage } from "./stage.ts"

const growthOperations = ["getSessionAndUser", "getUserByAccount"] satisfies OperationName[]

/**
 * Measures the same lookups with increasing numbers of users. Each number has its own server, and they take turns. The
 * name of a figure is its number of users.
 */
export async function measureGrowth(
  stage: Stage,
  options: { sizes: readonly number[]; callers: readonly number[]; warmUpMs: number; pace: Pace },
): Promise<Figure[]> {
  const { sizes, callers, warmUpMs, pace } = options
  const turns: Turn[] = []
  for (const users of sizes) {
    turns.push({ name: String(users), users, side: await stage.side("authwire-pipeline", users) })
  }
  const figures: Figure[] = []
  for (const operation of growthOperations) {
    await warmUp(turns, operation, warmUpMs)
    for (const count of callers) figures.push(...(await takeTurns(turns, operation, count, pace)))
    stage.say(`measured the growth of ${operation}`)
  }
  await stage.clear()
  return figures
}
