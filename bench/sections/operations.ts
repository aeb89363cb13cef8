import { type ContenderName, contenders } from "../contenders/contenders.ts"
import type { OperationName } from "../load/operations.ts"
import { type Figure, type Pace, type Turn, takeTurns, warmUp } from "../load/turns.ts"
import type { Stage } from "./stage.ts"

/** Measures every operation with every contender and every number of callers. Floors have only `getSessionAndUser`. */
export async function measureOperations(
  stage: Stage,
  options: {
    names: readonly ContenderName[]
    operations: readonly OperationName[]
    users: number
    callers: readonly number[]
    warmUpMs: number
    pace: (operation: OperationName) => Pace
  },
): Promise<Figure[]> {
  const { names, operations, users, callers, warmUpMs, pace } = options
  const turns: (Turn & { isFloor: boolean })[] = []
  for (const name of names) {
    turns.push({ name, users, side: await stage.side(name, users), isFloor: contenders[name].isFloor })
  }
  const figures: Figure[] = []
  for (const operation of operations) {
    const able = turns.filter(({ isFloor }) => operation === "getSessionAndUser" || !isFloor)
    await warmUp(able, operation, warmUpMs)
    for (const count of callers) {
      figures.push(...(await takeTurns(able, operation, count, pace(operation))))
      stage.say(`measured ${operation}, ${count} at a time`)
    }
  }
  await stage.clear()
  return figures
}
