// One contender in a process of its own, that makes its load: answers each request of the parent with what it measured.
//
//   fork("load/side.ts", [name, JSON of its places])

import { type ContenderName, contenders } from "../contenders/contenders.ts"
import { closedLoop } from "./closed-loop.ts"
import { check, operations } from "./operations.ts"
import type { Request, Response } from "./sides.ts"
import { randomNumbers } from "./statistics.ts"

const [name = "", places = "{}"] = process.argv.slice(2)
const { kind, open } = contenders[name as ContenderName]
const contender = await open(JSON.parse(places))

async function answer(request: Request): Promise<Response> {
  switch (request.do) {
    case "check":
      if (kind !== "floor") await check(contender.adapter, request.users)
      return { done: true }
    case "measure": {
      const { operation, users, batch, batchSize, seed, ...loop } = request
      const random = randomNumbers(seed)
      const call = operations[operation]({ adapter: contender.adapter, users, batch, batchSize, random })
      return { window: await closedLoop({ call, ...loop }) }
    }
  }
}

process.on("message", async (request: Request) => {
  try {
    process.send?.(await answer(request))
  } catch (error) {
    process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
})
process.on("disconnect", () => process.exit())
process.send?.({ done: true })
