import { type ContenderName, contenders } from "../contenders/contenders.ts"
import { type OperationName, usesTokens, writes } from "../load/operations.ts"
import { type Figure, type Pace, type Turn, takeTurns, warmUp } from "../load/turns.ts"
import type { Stage } from "./stage.ts"

/** Every operation by every contender, with every number of callers. Floors have only `getSessionAndUser`. */
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
  const { names, operations, users, callers, pace } = options
  const turns: Turn[] = []
  for (const name of names) turns.push({ name, users, side: await stage.side(name, users) })
  const databases = await Promise.all(
    [...new Set(names.map((name) => contenders[name].schema))].map((schema) => schema && stage.database(schema, users)),
  )
  const cleanUp = async () => {
    for (const database of databases) await database?.cleanUp()
  }

  const figures: Figure[] = []
  for (const operation of operations) {
    const able = turns
      .filter(({ name }) => operation === "getSessionAndUser" || contenders[name as ContenderName].kind !== "floor")
      .map((turn) => (usesTokens(operation) ? { ...turn, prepare: prepare(turn.name as ContenderName) } : turn))
    await warmUp(able, operation, options.warmUpMs)
    for (const count of callers) {
      figures.push(...(await takeTurns(able, operation, count, pace(operation))))
      if (writes(operation)) await cleanUp()
      stage.say(`measured ${operation}, ${count} at a time`)
    }
  }
  await stage.clear()
  return figures

  function prepare(name: ContenderName) {
    return async (batch: string, count: number) => {
      const { schema } = contenders[name]
      if (schema !== null) await (await stage.database(schema, users)).addVerificationTokens(batch, count)
    }
  }
}
