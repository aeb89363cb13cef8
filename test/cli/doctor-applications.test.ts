import { SessionPolicyService } from "@authwire/proto"
import type { TestDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { expect, test } from "@jest/globals"
import { diagnoseSignUps } from "../../server/src/doctor/database.js"
import { diagnoseSessionPolicies } from "../../server/src/doctor/session-policies.js"
import { diagnosed } from "./diagnosed.js"

// What authwire doctor finds out about the applications from what they have stored.
const dayMs = 86_400_000
const later = endsAfterEach()

const doctor = async ({ url }: TestDatabase) => {
  const { stdout, code } = await run(["doctor"], { AUTHWIRE_DATABASE_URL: url, AUTH_SECRET: testSecret })
  expect(code).toBe(0)
  return stdout
}

test("interrupted sign-ups are listed by their ids, and never by their addresses", async () => {
  const authwire = await startAuthwire("sqlite")
  later(authwire.close)
  const { database: own, adapter, client } = authwire
  const { users } = client
  const create = (id: string, emailVerified: Date | null = null) =>
    adapter.createUser({ id, email: `${id}@example.com`, emailVerified })
  for (const id of ["linked", "signed-in"]) await create(id)
  await adapter.linkAccount({ userId: "linked", type: "oauth", provider: "p", providerAccountId: "1" })
  await adapter.createSession({ sessionToken: "t", userId: "signed-in", expires: new Date(Date.now() + 1e6) })
  await create("verified", new Date())
  await users.createUser({ id: "without-address" })
  expect(await diagnosed(own, (database) => diagnoseSignUps(database, Date.now()))).toMatchObject({
    state: "ok",
    detail: "none of the last 7 days, or of the newest 5000, was interrupted",
  })
  for (const id of ["broken-1", "broken-2"]) await create(id)
  const text = await doctor(own)
  expect(text).toMatch(/^warning +sign-ups +users of tenant default: broken-1, broken-2 have no account/m)
  expect(text).not.toContain("example.com")
})

test("an application whose maxAge is as long as max age of the session policy is named, with both", async () => {
  const authwire = await startAuthwire("sqlite")
  later(authwire.close)
  const { database: own, adapter, client } = authwire
  const { users } = client
  const policies = createClient(SessionPolicyService, createGrpcTransport({ baseUrl: authwire.server.grpcUrl }))
  const limit = (days: number | undefined) =>
    policies.updateSessionPolicy({
      ...(days !== undefined && { maxAge: durationFromMs(days * dayMs) }),
      updateMask: { paths: ["max_age"] },
    })
  await users.createUser({ id: "u" })
  const signIn = (days: number) =>
    adapter.createSession({
      sessionToken: crypto.randomUUID(),
      userId: "u",
      expires: new Date(Date.now() + days * dayMs),
    })
  const line = async () => {
    const { state, detail } = await diagnosed(own, diagnoseSessionPolicies)
    return `${state} ${detail}`
  }
  const isWell = "ok no application seems to ask for sessions that last as long as max age"
  await signIn(30)
  expect(await line()).toBe(isWell)
  await limit(7)
  expect(await doctor(own)).toMatch(
    /^warning +session policies +an application of tenant default asks for sessions of 30d, and max age is 7d: .* Set maxAge of /m,
  )
  await own.query("DELETE FROM sessions")
  await signIn(30)
  expect(await line()).toMatch(/ tenant default asks for sessions of 7d or more, and max age is 7d: /)
  const earlier = (column: string) => `${column} = strftime('%Y-%m-%d %H:%M:%f', ${column}, '-1 day')`
  await own.query(`UPDATE sessions SET ${["created", "last_seen", "expires"].map(earlier).join(", ")}`)
  expect(await line()).toMatch(/^warning/)
  await signIn(6)
  expect(await line()).toBe(isWell)
  // A row that cannot be read says nothing.
  await own.query("UPDATE sessions SET expires = 'x' WHERE created = (SELECT MAX(created) FROM sessions)")
  expect(await line()).toMatch(/^warning/)
  await limit(undefined)
  await signIn(30)
  expect(await line()).toBe(isWell)
})
