import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { type RealProvider, startRealProvider } from "./real-provider.js"

// A real provider of OpenID Connect, a real application of Auth.js, and the logout token that the one sends for the other.
let database: TestDatabase
let world: RealProvider

beforeAll(async () => {
  database = await createDatabase(serviceDatabase())
  world = await startRealProvider(database)
})
afterAll(async () => {
  await world?.stop()
  await database?.drop()
})

test("a session that ends at the provider ends here, and those of other browsers go on", async () => {
  const [here, elsewhere] = [await world.signIn(), await world.signIn()]
  for (const browser of [here, elsewhere]) expect((await world.session(browser))?.user?.email).toBe("ada@example.com")
  await world.signOutAtProvider(here)
  await until(async () => (await world.session(here)) === null)
  expect((await world.session(elsewhere))?.user?.email).toBe("ada@example.com")
  await world.signOutAtProvider(elsewhere)
  await until(async () => (await world.session(elsewhere)) === null)
})
