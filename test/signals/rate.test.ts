import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { range } from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import { startIssuer } from "./issuer.js"
import { startSignalWorld } from "./world.js"

test("S-60: an address that sends signals faster than its rate is told to come later", async () => {
  await using resources = new AsyncDisposableStack()
  const database = await createDatabase(serviceDatabase())
  resources.defer(() => database.drop())
  const issuer = await startIssuer()
  resources.defer(async () => issuer.close())
  const world = await startSignalWorld(database, issuer)
  resources.defer(() => world.stop())

  const seen = new Map<number, string | null>()
  const send = async () => {
    // The service may also close a connection that has sent nothing valid.
    const answer = await world.push("no token").catch(() => undefined)
    if (answer !== undefined) seen.set(answer.status, answer.headers.get("retry-after"))
  }
  await until(async () => {
    await Promise.all(range(50).map(send))
    return seen.has(429)
  })
  expect(Object.fromEntries(seen)).toEqual({ 400: null, 429: "1" })
})
