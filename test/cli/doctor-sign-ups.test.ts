import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const target = serviceDatabase()

describe("authwire doctor, on abandoned sign-ups", () => {
  let authwire: Authwire
  beforeAll(async () => {
    authwire = await startAuthwire(target)
  })
  afterAll(() => authwire.close())

  const line = async () => {
    const environment = { AUTHWIRE_DATABASE_URL: authwire.database.url, AUTH_SECRET: testSecret }
    const { code, stdout } = await run(["doctor"], environment)
    expect(code).toBe(0)
    return stdout.split("\n").find((text) => text.includes(" sign-ups "))
  }
  const create = (id: string, more = {}) =>
    authwire.adapter.createUser({ id, email: `${id}@example.com`, emailVerified: null, ...more })

  test("none: no problem is reported", async () => {
    await create("linked")
    await authwire.adapter.linkAccount({ userId: "linked", type: "oauth", provider: "p", providerAccountId: "1" })
    await create("signed-in")
    await authwire.adapter.createSession({
      sessionToken: "t",
      userId: "signed-in",
      expires: new Date(Date.now() + 1e6),
    })
    await create("verified", { emailVerified: new Date() })
    await authwire.client.users.createUser({ id: "without-address" })
    expect(await line()).toMatch(/^ok +sign-ups +none of the last 7 days was interrupted$/)
  })

  test("they are listed by their ids, and never by their addresses", async () => {
    for (const id of ["broken-1", "broken-2"]) await create(id)
    const text = await line()
    expect(text).toMatch(/^warning +sign-ups +users of tenant default: broken-1, broken-2 have no account/)
    expect(text).not.toContain("example.com")
  })
})
