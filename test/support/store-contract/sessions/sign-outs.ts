import { describe, expect, test } from "@jest/globals"
import type { UserPatch } from "../../../../server/src/store/types.js"
import { type ContractContext, createTenant, day, newAccount, newSession, newUser, range } from "../context.js"

/** Declares the tests of writes that revoke all sessions of a user in their transaction. */
export function signOutContract(context: ContractContext): void {
  /** Creates a tenant with a user with an account and two sessions, and another user with one session. */
  async function signedIn() {
    const caller = await createTenant(context)
    const { store, clock } = context
    for (const id of ["u", "v"]) await store.users.create(caller, newUser({ id, email: `${id}@example.com` }))
    const account = await store.accounts.link(caller, newAccount("u"))
    for (const id of ["u", "u", "v"]) await store.sessions.create(caller, newSession(id, clock.now + day))
    return { caller, account }
  }
  /** Returns the user ids of all sessions. */
  const sessionsIn = async ({ tenant }: { tenant: string }) => {
    const rows = await context.database.sql("SELECT user_id FROM sessions WHERE tenant = ? ORDER BY user_id", [tenant])
    return rows.map(({ user_id }) => user_id)
  }

  describe("a new e-mail address", () => {
    const signOut = { revokeSessionsOnEmailChange: true }

    test.each<[string, UserPatch, number | undefined]>([
      ["another one", { email: "new@example.com" }, 2],
      ["none", { email: null }, 2],
      ["one that is blank", { email: " " }, 2],
      ["the same", { email: "u@example.com" }, undefined],
      ["the same, in another spelling", { email: " U@Example.com" }, undefined],
      ["not part of the patch", { name: "Ada" }, undefined],
    ])("which is %s", async (_, patch, revoked) => {
      const { caller } = await signedIn()
      const updated = await context.store.users.update(caller, "u", patch, signOut)
      expect(updated?.revokedSessions).toBe(revoked)
      expect(await sessionsIn(caller)).toEqual(revoked === undefined ? ["u", "u", "v"] : ["v"])
      expect(await context.other.users.get(caller, "u")).toEqual({ ...updated, revokedSessions: undefined })
    })

    test("revokes no sessions unless requested", async () => {
      const { caller } = await signedIn()
      const patch = { email: "new@example.com" }
      for (const options of [undefined, { revokeSessionsOnEmailChange: false }]) {
        expect((await context.store.users.update(caller, "u", patch, options))?.revokedSessions).toBeUndefined()
      }
      expect(await sessionsIn(caller)).toEqual(["u", "u", "v"])
    })

    test("that another user has: nothing is written, no session is revoked", async () => {
      const { caller } = await signedIn()
      const taken = context.store.users.update(caller, "u", { email: "v@example.com" }, signOut)
      await expect(taken).rejects.toMatchObject({ reason: "EMAIL_ALREADY_EXISTS" })
      expect(await sessionsIn(caller)).toEqual(["u", "u", "v"])
    })

    test("of an unknown user", async () => {
      const { caller } = await signedIn()
      expect(await context.store.users.update(caller, "nobody", { email: "new@example.com" }, signOut)).toBeNull()
      expect(await sessionsIn(caller)).toEqual(["u", "u", "v"])
    })

    test("and sessions that are created at the same time: those from before the change are revoked", async () => {
      const { caller } = await signedIn()
      const { store, other, clock } = context
      const created = range(10).map(() => other.sessions.create(caller, newSession("u", clock.now + day)))
      const updated = await store.users.update(caller, "u", { email: "new@example.com" }, signOut)
      await Promise.all(created)
      const left = (await sessionsIn(caller)).filter((id) => id === "u")
      expect(left).toHaveLength(12 - Number(updated?.revokedSessions))
    })
  })

  describe("an account that is unlinked", () => {
    test("revokes the sessions of its user if requested", async () => {
      const { caller, account } = await signedIn()
      const unlinked = await context.store.accounts.unlink(caller, account, { revokeSessions: true })
      expect(unlinked).toEqual({ ...account, revokedSessions: 2 })
      expect(await sessionsIn(caller)).toEqual(["v"])
      expect(await context.other.accounts.get(caller, account)).toBeNull()
      expect(await context.store.accounts.unlink(caller, account, { revokeSessions: true })).toBeNull()
    })

    test("revokes none otherwise, and none of another tenant", async () => {
      const { caller, account } = await signedIn()
      const elsewhere = await signedIn()
      expect(await context.store.accounts.unlink(elsewhere.caller, account, { revokeSessions: true })).toBeNull()
      expect(await context.store.accounts.unlink(caller, account)).toEqual(account)
      for (const { tenant } of [caller, elsewhere.caller]) {
        expect(await sessionsIn({ tenant })).toEqual(["u", "u", "v"])
      }
    })
  })
}
