import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { describe } from "@jest/globals"
import { carriers } from "./carriers.js"
import { describeCrowds } from "./crowds.js"
import { describeEndings } from "./endings.js"
import { describeFailures } from "./failures.js"
import { describeHeaders } from "./headers.js"
import { describeMessages } from "./messages.js"
import { describeRepetitions } from "./repetitions.js"
import { useWorld } from "./world.js"

// What a call does not depend on: how it is carried. Each way is compared to a call of its own over gRPC.
//
// No way knows the database behind it, so one database has all of them: a server, because SQLite has no call that waits.
// The others have the way that the client takes unless it is told otherwise.
const targets = databaseTargets()
const withAllWays = targets.find((target) => target !== "sqlite") ?? "sqlite"

describe.each(targets)("on %s", (target) => {
  const world = useWorld(target)
  const ways = target === withAllWays ? carriers : carriers.slice(0, 1)
  describe.each(ways.map((carrier) => [carrier.name, carrier] as const))("%s", (_, carrier) => {
    describeMessages(world, carrier)
    describeFailures(world, carrier)
    describeHeaders(world, carrier)
    describeRepetitions(world, carrier)
    describeCrowds(world, carrier)
    if (target !== "sqlite") describeEndings(world, carrier)
  })
})
