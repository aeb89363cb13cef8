import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { describe, expect, test } from "@jest/globals"

// A program that changes one property reads `extra`, and writes all of it.
describe("extra as a read returns it is accepted by a write, and changes nothing", () => {
  const authwire = useAuthwire(serviceDatabase())
  /** All columns but the times of the last write and of the last use. */
  const rows = async (table: string) =>
    (await authwire.rows(`SELECT * FROM ${table} ORDER BY 1, 2, 3`)).map(({ updated: _, last_seen: __, ...row }) => row)
  /** Writes `extra` by other means than a call, as an import or a person does. */
  const store = (table: string, extra: object) =>
    authwire.database.query(`UPDATE ${table} SET extra = ?`, [JSON.stringify(extra)])
  const mask = { updateMask: { paths: ["extra"] } }

  test("of a user, also with nulls of all fields", async () => {
    const { users } = authwire.client
    await users.createUser({ id: "u" })
    const nulls = { id: null, email: null, emailVerified: null, name: null, image: null }
    await store("users", { role: "editor", ...nulls })
    const { extra } = (await users.getUser({ id: "u" })).user ?? {}
    expect(extra).toMatchObject({ role: "editor", ...nulls })
    const before = await rows("users")
    await users.updateUser({ id: "u", extra, ...mask })
    expect(await rows("users")).toEqual(before)
    // A null clears nothing: the name was set after `extra` was read.
    await users.updateUser({ id: "u", name: "Ada", updateMask: { paths: ["name"] } })
    const { user } = await users.updateUser({ id: "u", extra: { ...extra, role: "admin" }, ...mask })
    expect(user).toMatchObject({ name: "Ada", extra: { role: "admin" } })
    expect(user?.extra).not.toHaveProperty("name")
    expect((await users.createUser({ id: "copy", extra })).user?.extra).toEqual(extra)
  })

  test("of a session", async () => {
    const { sessions } = authwire.client
    await sessions.createSession({ sessionToken: "t", userId: "u", expires: { seconds: 4_000_000_000n } })
    const nulls = { sessionToken: null, userId: null, expires: null }
    await store("sessions", { device: "phone", ...nulls })
    const { extra } = (await sessions.getSessionAndUser({ sessionToken: "t" })).session ?? {}
    expect(extra).toEqual({ device: "phone", ...nulls })
    const before = await rows("sessions")
    await sessions.updateSession({ sessionToken: "t", extra, ...mask })
    expect(await rows("sessions")).toEqual(before)
    const expires = { seconds: 4_000_000_000n }
    await sessions.createSession({ sessionToken: "t2", userId: "u", expires, extra })
    await sessions.updateSession({ sessionToken: "t2", extra: { ...extra, device: "desk" }, ...mask })
  })

  test("of an account", async () => {
    const { accounts } = authwire.client
    const account = { userId: "u", type: 2, provider: "p", providerAccountId: "a", accessToken: "token" }
    await accounts.linkAccount({ ...account, extra: { session_state: "s", refresh_token: null, scope: null } })
    const { extra } = (await accounts.getAccount(account)).account ?? {}
    expect(extra).toMatchObject({ refresh_token: null, scope: null })
    expect((await accounts.linkAccount({ ...account, extra })).account?.extra).toEqual(extra)
  })
})
