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

// The result of a call must not depend on its transport. Each carrier is compared with a separate call over gRPC.
//
// The carriers do not depend on the database, so only one database is tested with all of them. It is a server, because
// SQLite has no calls that wait. The others are tested with the client's default carrier.
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
