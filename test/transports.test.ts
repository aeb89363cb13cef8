import { describe } from "@jest/globals"
import { databaseTargets } from "./support/databases.js"
import { carriers } from "./transports/carriers.js"
import { describeCrowds } from "./transports/crowds.js"
import { describeEndings } from "./transports/endings.js"
import { describeFailures } from "./transports/failures.js"
import { describeHeaders } from "./transports/headers.js"
import { describeMessages } from "./transports/messages.js"
import { useWorld } from "./transports/world.js"

// What a call does not depend on: how it is carried. Each way is compared to a call of its own over gRPC.
describe.each(databaseTargets())("on %s", (target) => {
  const world = useWorld(target)
  describe.each(carriers.map((carrier) => [carrier.name, carrier] as const))("%s", (_, carrier) => {
    describeMessages(world, carrier)
    describeFailures(world, carrier)
    describeHeaders(world, carrier)
    describeCrowds(world, carrier)
    // SQLite has no call that waits.
    if (target !== "sqlite") describeEndings(world, carrier)
  })
})
