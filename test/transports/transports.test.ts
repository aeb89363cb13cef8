import { databaseTargets } from "@authwire/test-support/databases.js"
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
describe.each(databaseTargets())("on %s", (target) => {
  const world = useWorld(target)
  describe.each(carriers.map((carrier) => [carrier.name, carrier] as const))("%s", (_, carrier) => {
    describeMessages(world, carrier)
    describeFailures(world, carrier)
    describeHeaders(world, carrier)
    describeRepetitions(world, carrier)
    describeCrowds(world, carrier)
    // SQLite has no call that waits.
    if (target !== "sqlite") describeEndings(world, carrier)
  })
})
