import type { OperationName } from "../load/operations.ts"
import { type Figure, type Pace, type Turn, takeTurns, warmUp } from "../load/turns.ts"
import type { Stage } from "./stage.ts"

const growthOperations = ["getSessionAndUser", "getUserByAccount"] satisfies OperationName[]

/** The same lookups on more and more users: a server for each, which take turns. Figures have the number as name. */
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
