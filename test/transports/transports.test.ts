import { serviceServer } from "@authwire/test-support/databases/databases.js"
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
// The database is a server, if this run has one, because SQLite has no calls that wait.
const target = serviceServer() ?? "sqlite"

describe(`on ${target}`, () => {
  const world = useWorld(target)
  describe.each(carriers.map((carrier) => [carrier.name, carrier] as const))("%s", (_, carrier) => {
    describeMessages(world, carrier)
    describeFailures(world, carrier)
    describeHeaders(world, carrier)
    describeRepetitions(world, carrier)
    describeCrowds(world, carrier)
    if (target !== "sqlite") describeEndings(world, carrier)
  })
})
