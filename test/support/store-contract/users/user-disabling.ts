import { describe, expect, test } from "@jest/globals"
import type { Store } from "../../../../server/src/store/store.js"
import type { Account, Disabled, Session } from "../../../../server/src/store/types.js"
import {
  type ContractContext,
  createTenant,
  day,
  newAccount,
  newAuthenticator,
  newId,
  newSession,
  newUser,
  oddText,
  outcomes,
  range,
} from "../context.js"
import { addSessions, manySessions } from "../sessions/sessions-of-user.js"

export function userDisablingContract(context: ContractContext): void {
  const disabledError = { reason: "USER_DISABLED" }

  /** Creates a tenant with a user who has an account, a passkey and a session, and another user with a session. */
  async function signedIn() {
    const { store, clock } = context
    const caller = await createTenant(context)
    const user = await store.users.create(caller, newUser({ id: "u", email: "u@example.com" }))
    await store.users.create(caller, newUser({ id: "v", email: "v@example.com" }))
    const account = await store.accounts.link(caller, newAccount("u", { access_token: "at" }))
    await store.authenticators.create(caller, newAuthenticator("u"))
    const session = await store.sessions.create(caller, newSession("u", clock.now + day))
    const another = await store.sessions.create(caller, newSession("v", clock.now + day))
    return { caller, user, account, session, another }
  }
  const rowsOf = ({ tenant }: { tenant: string }, table = "sessions") =>
    context.database.sql(`SELECT user_id FROM ${table} WHERE tenant = ? ORDER BY user_id`, [tenant])
  const soon = (ms = day) => new Date(context.clock.now + ms)

  describe("disable", () => {
    test("the database holds since when, until when and why, and every read returns it", async () => {
      const { caller, user, account } = await signedIn()
      const { store, other, clock } = context
      const disabled: Disabled = { since: new Date(clock.now), until: soon(), reason: oddText }
      const expected = { ...user, disabled }
      expect(await store.users.disable(caller, "u", disabled)).toEqual({ ...expected, revokedSessions: 1 })
      const [row] = await context.database.sql(
        "SELECT disabled, disabled_until, disabled_reason FROM users WHERE tenant = ? AND id = 'u'",
        [caller.tenant],
      )
      expect(row).toEqual({ disabled: clock.now, disabled_until: clock.now + day, disabled_reason: oddText })
      const { users } = other
      expect(await users.get(caller, "u")).toEqual(expected)
      expect(await users.getByEmail(caller, "u@example.com")).toEqual(expected)
      expect(await users.getByAccount(caller, account)).toEqual(expected)
      for (const filter of [{}, { email: "u@example.com" }]) {
        expect((await users.list(caller, filter, { size: 9 })).items[0]).toMatchObject(expected)
      }
      expect(await users.update(caller, "u", { name: "Ada" })).toEqual({ ...expected, name: "Ada" })
      expect(await users.delete(caller, "u")).toEqual({ ...expected, name: "Ada" })
    })

    test("again: replaces end and reason, and keeps since when", async () => {
      const { caller } = await signedIn()
      const { store, clock } = context
      const since = new Date(clock.now)
      await store.users.disable(caller, "u", { until: soon(), reason: "one" })
      clock.now += 1_000
      await store.users.disable(caller, "u", {})
      expect((await context.other.users.get(caller, "u"))?.disabled).toEqual({ since })
      expect((await context.other.users.get(caller, "v"))?.disabled).toBeUndefined()
    })

    test("deletes the user's sessions, and nothing else", async () => {
      const { caller, session, another } = await signedIn()
      const { store, other, clock } = context
      await store.users.disable(caller, "u", {})
      expect(await rowsOf(caller)).toEqual([{ user_id: "v" }])
      for (const table of ["accounts", "authenticators"]) expect(await rowsOf(caller, table)).toHaveLength(1)
      expect(await other.sessions.getWithUser(caller, session.sessionToken)).toBeNull()
      expect(await other.sessions.getWithUser(caller, another.sessionToken)).not.toBeNull()
      expect(await other.sessions.update(caller, session.sessionToken, { expires: soon(clock.now) })).toBeNull()
    })

    test.each<[string, (store: Store, caller: { tenant: string }) => Promise<unknown>]>([
      ["a session", (store, caller) => store.sessions.create(caller, newSession("u", context.clock.now + day))],
      ["an account", (store, caller) => store.accounts.link(caller, newAccount("u"))],
      ["a passkey", (store, caller) => store.authenticators.create(caller, newAuthenticator("u"))],
      [
        "the tokens of an account",
        (store, caller) => store.tokenRefreshes.get(caller, { userId: "u", provider: "github" }),
      ],
    ])("the user gets %s again only when it is enabled", async (_, call) => {
      const { caller } = await signedIn()
      await context.store.users.disable(caller, "u", {})
      await expect(call(context.other, caller)).rejects.toMatchObject(disabledError)
      await context.store.users.enable(caller, "u")
      expect(await call(context.other, caller)).not.toBeNull()
    })

    test("a refresh of its tokens that has waited does not begin, and has no lease", async () => {
      const { caller, account } = await signedIn()
      const { store, other } = context
      const read = (await store.accounts.get(caller, account)) as Account
      await store.users.disable(caller, "u", {})
      const begun = () => other.tokenRefreshes.begin(caller, read, { holder: "waited", ms: day })
      await expect(begun()).rejects.toMatchObject(disabledError)
      await store.users.enable(caller, "u")
      expect(await begun()).toMatchObject({ taken: true, unreleasedMs: undefined })
    })

    test("an account that is linked already is not linked again, and a session is not given to the user", async () => {
      const { caller, account, another } = await signedIn()
      const { store, other } = context
      await store.users.disable(caller, "u", {})
      const linked = other.accounts.link(caller, { ...account, access_token: "new" })
      await expect(linked).rejects.toMatchObject(disabledError)
      expect((await other.accounts.get(caller, account))?.access_token).toBe("at")
      const given = other.sessions.update(caller, another.sessionToken, { userId: "u" })
      await expect(given).rejects.toMatchObject(disabledError)
      const within = other.once({ ...caller }, { owner: "o", key: "k", digest: () => "d" }, async (transaction) => {
        await other.sessions.create({ ...caller, transaction }, newSession("u", context.clock.now + day))
        return Buffer.from("answer")
      })
      await expect(within).rejects.toMatchObject(disabledError)
    })

    test("a session that a row still has is returned by no read, and is gone when the user is enabled", async () => {
      const { caller } = await signedIn()
      const { store, other, clock } = context
      const session = (await store.sessions.create(caller, newSession("u", clock.now + day))) as Session
      // As if an import had written the session.
      const set = "UPDATE users SET disabled = ?, disabled_until = ? WHERE tenant = ? AND id = 'u'"
      await context.database.sql(set, [context.database.moment(clock.now), null, caller.tenant])
      const { sessionToken } = session
      expect(await other.sessions.getWithUser(caller, sessionToken)).toBeNull()
      expect(await other.sessions.access(caller, sessionToken, { maxAge: 2 * day, updateAge: 0 })).toBeNull()
      await store.users.enable(caller, "u")
      expect(await rowsOf(caller)).toEqual([{ user_id: "v" }])
    })

    test("the end needs no write", async () => {
      const { caller } = await signedIn()
      const { store, other, clock } = context
      await store.users.disable(caller, "u", { until: soon() })
      // The clock of the database decides whether there is a session, and that of the store what is returned.
      const set = "UPDATE users SET disabled_until = ? WHERE tenant = ? AND id = 'u'"
      await context.database.sql(set, [context.database.moment(Date.now() - 1_000), caller.tenant])
      clock.now += day
      expect((await other.users.get(caller, "u"))?.disabled).toBeUndefined()
      const { sessionToken } = await other.sessions.create(caller, newSession("u", clock.now + day))
      const found = await store.sessions.getWithUser(caller, sessionToken)
      expect(found?.user).toEqual(await store.users.get(caller, "u"))
      expect(found?.user.disabled).toBeUndefined()
      await store.users.disable(caller, "u", {})
      expect((await other.users.get(caller, "u"))?.disabled).toEqual({ since: new Date(clock.now) })
    })

    test("an end that is not in the future, an unknown user, a user of another tenant", async () => {
      const { caller } = await signedIn()
      const { users } = context.store
      const invalid = { reason: "INVALID_FIELD", field: "end_time" }
      await expect(users.disable(caller, "u", { until: soon(0) })).rejects.toMatchObject(invalid)
      expect(await users.disable(caller, "nobody", {})).toBeNull()
      expect(await users.disable({ tenant: newId() }, "u", {})).toBeNull()
      expect(await users.enable(caller, "nobody")).toBeNull()
      expect((await context.other.users.get(caller, "u"))?.disabled).toBeUndefined()
      expect(await rowsOf(caller)).toHaveLength(2)
    })

    test("S-54: at the same time as 200 sign-ins on two processes: no session is left", async () => {
      const { caller } = await signedIn()
      const { store, other, clock } = context
      const sessions = range(200).map(() => newSession("u", clock.now + day))
      const created = outcomes(sessions.map((session, n) => (n % 2 ? store : other).sessions.create(caller, session)))
      const disabled = await store.users.disable(caller, "u", {})
      const found = await Promise.all(
        sessions.map(({ sessionToken }) => other.sessions.getWithUser(caller, sessionToken)),
      )
      expect(found.filter((one) => one !== null)).toEqual([])
      const { ok = 0, USER_DISABLED = 0 } = await created
      expect(ok + USER_DISABLED).toBe(200)
      expect(await rowsOf(caller)).toEqual([{ user_id: "v" }])
      expect(disabled?.revokedSessions).toBe(ok + 1)
    })

    test("S-54: a session whose creation waits for the commit is not created", async () => {
      const { caller } = await signedIn()
      const { database, store, clock } = context
      // In a cluster, a lock holds on its own member only.
      const beside = await database.openStore({ clock: () => clock.now })
      const disabled = Promise.withResolvers<void>()
      const mayCommit = Promise.withResolvers<void>()
      const request = { owner: "o", key: newId(), digest: () => "d" }
      const committed = store.once(caller, request, async (transaction) => {
        await store.users.disable({ ...caller, transaction }, "u", {})
        disabled.resolve()
        await mayCommit.promise
        return Buffer.from("answer")
      })
      await disabled.promise
      const met = database.lockMet()
      const created = outcomes([beside.sessions.create(caller, newSession("u", clock.now + day))])
      await met
      mayCommit.resolve()
      await committed
      expect(await created).toEqual({ USER_DISABLED: 1 })
      expect(await rowsOf(caller)).toEqual([{ user_id: "v" }])
    })

    test("with thousands of sessions: the user is disabled before these are deleted", async () => {
      const { caller } = await signedIn()
      const { store, other } = context
      await addSessions(context, caller.tenant, "u")
      const done = store.users.disable(caller, "u", {})
      const seen: number[] = []
      for (let disabled = false; !disabled; ) {
        disabled = (await other.users.get(caller, "u"))?.disabled !== undefined
        if (disabled) seen.push((await rowsOf(caller)).length)
      }
      expect((await done)?.revokedSessions).toBe(manySessions + 1)
      expect(await rowsOf(caller)).toEqual([{ user_id: "v" }])
      expect(seen[0]).toBeGreaterThan(0)
    }, 60_000)
  })

  describe("enable", () => {
    test("clears the columns; a user that is enabled is not written", async () => {
      const { caller, user } = await signedIn()
      const { store, other, clock } = context
      await store.users.disable(caller, "u", { until: soon(), reason: "why" })
      clock.now += 1_000
      expect(await other.users.enable(caller, "u")).toEqual(user)
      const select =
        "SELECT disabled, disabled_until, disabled_reason, updated FROM users WHERE tenant = ? AND id = 'u'"
      const row = { disabled: null, disabled_until: null, disabled_reason: null, updated: clock.now }
      expect(await context.database.sql(select, [caller.tenant])).toEqual([row])
      clock.now += 1_000
      expect(await store.users.enable(caller, "u")).toEqual(user)
      expect(await context.database.sql(select, [caller.tenant])).toEqual([row])
    })
  })
}
