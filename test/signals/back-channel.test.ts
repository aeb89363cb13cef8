import { createAuthwireClient, RemoteJwt } from "@authwire/client"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { type Browser, type RealProvider, startRealProvider } from "./real-provider.js"

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

test("the JWT of a session that ends at the provider is refused, also when the application renews it", async () => {
  await using resources = new AsyncDisposableStack()
  const real = await startRealProvider(database, ({ grpcUrl: url, apiKey }) => ({
    session: { strategy: "jwt" },
    jwt: RemoteJwt({ url, apiKey }),
    callbacks: {
      jwt({ token, account, profile }) {
        const signedIn = Math.floor(Date.now() / 1000)
        if (account) Object.assign(token, { provider: account.provider, sid: profile?.sid, auth_time: signedIn })
        return token
      },
    },
  }))
  resources.defer(real.stop)
  const client = createAuthwireClient({ url: real.authwire.grpcUrl, apiKey: real.authwire.apiKey })
  resources.defer(async () => client.close())
  const isActive = async ({ application: cookies }: Browser) => {
    const value = [...cookies].map(([name, text]) => `${name}=${text}`).join("; ")
    return (await client.introspection.introspect({ headers: [{ name: "cookie", value }] })).active
  }

  const [here, elsewhere] = [await real.signIn(), await real.signIn()]
  for (const browser of [here, elsewhere]) expect(await isActive(browser)).toBe(true)
  await real.signOutAtProvider(here)
  await until(async () => !(await isActive(here)))
  const before = JSON.stringify([...here.application])
  expect((await real.session(here))?.user?.email).toBe("ada@example.com")
  expect(JSON.stringify([...here.application])).not.toBe(before)
  expect(await isActive(here)).toBe(false)
  expect(await isActive(elsewhere)).toBe(true)
})
