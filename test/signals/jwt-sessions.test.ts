import { createDatabase, describeServer, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import type { ServerProcess } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { ways } from "../gateways/ask.js"
import { event, type Issuer, logout, startIssuer } from "./issuer.js"
import { type SignalWorld, type SignedIn, signIn, startSignalWorld } from "./world.js"

const name = "authjs.session-token"
const hour = 3_600

describeServer("JWT sessions, which a provider ends at one replica and another is asked about, on %s", (target) => {
  let issuer: Issuer
  let database: TestDatabase
  let world: SignalWorld
  let other: SignalWorld
  beforeAll(async () => {
    database = await createDatabase(target)
    issuer = await startIssuer()
    world = await startSignalWorld(database, issuer)
    other = await startSignalWorld(database, issuer)
  })
  afterAll(async () => {
    await other.stop()
    await world.stop()
    issuer.close()
    await database.drop()
  })

  /** Who says whether the request with a cookie is that of a user. */
  const askers: Record<string, (cookie: string, server: ServerProcess) => Promise<boolean>> = {
    Introspect: async (cookie) =>
      (await other.client.introspection.introspect({ headers: [{ name: "cookie", value: cookie }] })).active,
    ...Object.fromEntries(
      ways.map((way) => [
        way.name,
        async (cookie: string, server: ServerProcess) =>
          (await way.ask(server, undefined, { headers: { cookie }, path: "/", host: "app", scheme: "https" }))
            .status === 200,
      ]),
    ),
    "auth_request of nginx": async (cookie, { httpUrl }) => {
      const headers = { cookie, "x-original-method": "GET", "x-original-uri": "/", "x-original-host": "app" }
      const { status } = await fetch(`${httpUrl}/v1/authorize?proxy=nginx`, { headers })
      expect([200, 401]).toContain(status)
      return status === 200
    },
  }
  const jwtOf = async ({ userId }: SignedIn, claims: object = {}) => {
    const token = { sub: userId, provider: "idp", sid: `one ${userId}`, ...claims }
    return `${name}=${await world.client.jwt.encode({ token, salt: name, maxAge: hour, secret: "" })}`
  }
  const logOut = async (claims: object) => {
    expect((await world.logout(await issuer.sign(logout(claims)))).status).toBe(200)
  }

  test.each(Object.entries(askers))(
    "S-62: %s refuses a JWT of a session that the provider has ended",
    async (_, ask) => {
      const [user, another] = [await signIn(world.client), await signIn(world.client)]
      const isActive = async (claims?: object, of = user) => ask(await jwtOf(of, claims), other.server)
      expect(await isActive()).toBe(true)
      await logOut({ sid: `one ${user.userId}`, sub: user.sub })
      // One that the application has renewed, too.
      for (const claims of [{}, { provider: undefined }, { auth_time: 4_000_000_000 }])
        expect(await isActive(claims)).toBe(false)
      for (const claims of [{ sid: `two ${user.userId}` }, { sid: undefined }, { provider: "other" }])
        expect(await isActive(claims)).toBe(true)
      expect(await isActive({}, another)).toBe(true)
    },
  )

  test.each(Object.entries(askers))(
    "S-62: %s refuses the JWTs of sign-ins that the provider has ended",
    async (_, ask) => {
      const [user, another] = [await signIn(world.client), await signIn(world.client)]
      const before = await jwtOf(user)
      const renewed = { auth_time: Math.floor(Date.now() / 1000) }
      expect(await ask(before, other.server)).toBe(true)
      await logOut({ sub: user.sub })
      expect(await ask(before, other.server)).toBe(false)
      expect(await ask(await jwtOf(user, { provider: undefined, ...renewed }), other.server)).toBe(false)
      expect(await ask(await jwtOf(user, { provider: "other", ...renewed }), other.server)).toBe(true)
      expect(await ask(await jwtOf(another, renewed), other.server)).toBe(true)
      // The time of issue has a precision of a second.
      await until(async () => ask(await jwtOf(user), other.server))
      expect(await ask(await jwtOf(user, renewed), other.server)).toBe(false)
      expect(await ask(before, other.server)).toBe(false)
    },
  )

  test.each([
    ["idp", true],
    ["unlinking", false],
    ["disabling", false],
  ])("an account that has ended at %s ends the JWTs of its user", async (provider, isLinked) => {
    const user = await signIn(world.client, { provider })
    const jwt = await jwtOf(user, { provider })
    const isActive = () => askers.Introspect?.(jwt, other.server)
    expect(await isActive()).toBe(true)
    const subject = { subject_type: "iss-sub", iss: issuer.issuer, sub: user.sub }
    const token = await issuer.sign(event("risc.account-disabled", subject))
    expect((await world.push(token, provider)).status).toBe(202)
    expect(await isActive()).toBe(false)
    if (isLinked) return
    await world.client.users.enableUser({ id: user.userId })
    expect(await isActive()).toBe(false)
  })

  test("tokens that a provider revokes end no JWT", async () => {
    const user = await signIn(world.client)
    const subject = { subject_type: "iss-sub", iss: issuer.issuer, sub: user.sub }
    expect((await world.push(await issuer.sign(event("oauth.tokens-revoked", subject)))).status).toBe(202)
    expect(await askers.Introspect?.(await jwtOf(user), other.server)).toBe(true)
  })
})
