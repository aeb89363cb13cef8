// Runs one contender and its load in a process of its own. Answers each request of the parent with the measurements.
//
//   startChild("side.ts", [name, JSON of its endpoints])

import { type ContenderName, contenders } from "../../contenders/contenders.ts"
import { answerParent } from "../child.ts"
import { closedLoop } from "../closed-loop.ts"
import { check, operations } from "../operations.ts"
import { soakOperations } from "../soak-operations.ts"
import { randomNumbers } from "../statistics.ts"
import type { Request } from "./start-side.ts"

const [name = "", endpoints = "{}"] = process.argv.slice(2)
const { isFloor, open } = contenders[name as ContenderName]
const contender = await open(JSON.parse(endpoints))
const all = { ...operations, ...soakOperations }

answerParent(async (request: Request) => {
  if (request.do === "check") return isFloor ? undefined : check(contender.adapter, request.users)
  const { operation, users, seed, ...loop } = request
  return closedLoop({ call: all[operation]({ ...contender, users, random: randomNumbers(seed) }), ...loop })
})
