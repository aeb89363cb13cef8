import { describe, expect, test } from "@jest/globals"
import type { Caller, Store } from "../../../../server/src/store/store.js"
import {
  type ContractContext,
  createTenant,
  day,
  expiredRows,
  newAccount,
  newAuthenticator,
  newId,
  newSession,
  newUser,
  range,
} from "../context.js"
import { addSessions, manySessions } from "../sessions/sessions-of-user.js"

/** Declares the tests of the deletion of users and sessions that are too many for one transaction. */
export function userDeletionContract(context: ContractContext): void {
  const sql: ContractContext["database"]["sql"] = (...parameters) => context.database.sql(...parameters)

  const addSessionsTo = (tenant: string, userId: string) => addSessions(context, tenant, userId)
  const addAccountsTo = async (tenant: string, userId: string) => {
    for (let start = 0; start < manySessions; start += 100) {
      const rows = range(100).map((n) => [tenant, "many", `${start + n}`, userId, "oauth", "{}"])
      const places = rows.map(() => "(?, ?, ?, ?, ?, ?)").join(", ")
      const columns = "tenant, provider, provider_account_id, user_id, type, extra"
      await sql(`INSERT INTO accounts (${columns}) VALUES ${places}`, rows.flat())
    }
  }

  /** Creates a tenant with one user, which has an account, a passkey and a session of each way to create one. */
  async function populated() {
    const caller = await createTenant(context)
    const { store, clock } = context
    const user = await store.users.create(caller, newUser({ id: "u", email: "u@example.com" }))
    const account = await store.accounts.link(caller, newAccount("u", { refresh_token: "r" }))
    const passkey = await store.authenticators.create(caller, newAuthenticator("u"))
    const session = await store.sessions.create(caller, newSession("u", clock.now + day))
    return { caller, user, account, passkey, session }
  }
  const rowsOf = async (tenant: string) => {
    const counts = ["users", "sessions", "accounts", "authenticators"].map(async (table) => {
      const [row] = await sql(`SELECT COUNT(*) AS n FROM ${table} WHERE tenant = ?`, [tenant])
      return Number(row?.n)
    })
    return Promise.all(counts)
  }
  const cleanup = ({ expired }: Store, limit: number) => {
    const rows = expiredRows({ expired }, "users")
    return rows.deleteBatch({}, { from: new Date(0), before: new Date(0), limit })
  }
  const cleanUp = async (store: Store) => {
    while ((await cleanup(store, 500)) !== null);
  }
  const eventsIn = async ({ tenant }: Caller) => {
    await context.store.events.sequence({ tenant })
    const events = await context.store.events.read({ tenant }, { after: 0, limit: 100 })
    return events.map(({ kind }) => kind)
  }

  describe.each([
    ["sessions", addSessionsTo],
    ["accounts", addAccountsTo],
  ])("a user with thousands of %s that was deleted", (_, add) => {
    test("is gone at once, and so is all that it had; the cleanup deletes the rows, a crash does not matter", async () => {
      const { caller, user, account, passkey, session } = await populated()
      const { store, other, clock } = context
      await add(caller.tenant, "u")
      const before = await eventsIn(caller)
      expect(await store.users.delete(caller, "u")).toEqual(user)
      expect(await rowsOf(caller.tenant)).toContain(manySessions + 1)

      const page = { size: 10 }
      const noRows = { items: [], nextToken: undefined }
      const { users, sessions, accounts, authenticators, tokenRefreshes } = other
      const expires = new Date(clock.now + 2 * day)
      expect(await users.get(caller, "u")).toBeNull()
      expect(await users.getByEmail(caller, "u@example.com")).toBeNull()
      expect(await users.getByAccount(caller, account)).toBeNull()
      expect(await users.update(caller, "u", { name: "N" })).toBeNull()
      expect(await users.delete(caller, "u")).toBeNull()
      expect(await users.list(caller, {}, page)).toEqual(noRows)
      expect(await users.count(caller, {})).toBe(0)
      expect(await sessions.getWithUser(caller, session.sessionToken)).toBeNull()
      expect(await sessions.update(caller, session.sessionToken, { expires })).toBeNull()
      expect(await sessions.access(caller, session.sessionToken, { maxAge: day, updateAge: 0 })).toBeNull()
      expect(await sessions.delete(caller, session.sessionToken)).toBeNull()
      expect(await sessions.list(caller, { userId: "u" }, page)).toEqual(noRows)
      expect(await sessions.get(caller, session.id as string)).toBeNull()
      expect(await sessions.revoke(caller, session.id as string)).toBeNull()
      expect(await sessions.revokeOfUsers(caller, ["u"])).toEqual({ processed: 1, revoked: 0 })
      expect(await accounts.get(caller, account)).toBeNull()
      expect(await accounts.listByUser(caller, "u", page, { tokens: true })).toEqual(noRows)
      expect(await accounts.unlink(caller, account, { revokeSessions: true })).toBeNull()
      expect(await tokenRefreshes.get(caller, { userId: "u", provider: account.provider })).toBeNull()
      expect(await tokenRefreshes.begin(caller, account, { holder: "h", ms: 1_000 })).toBeNull()
      expect(await authenticators.get(caller, passkey.credentialID)).toBeNull()
      expect(await authenticators.listByUserId(caller, "u")).toEqual([])
      expect(await authenticators.updateCounter(caller, passkey.credentialID, 9)).toBeNull()
      expect(await eventsIn(caller)).toEqual([...before, "user.deleted"])

      // The first process ends in the middle.
      expect(await cleanup(store, 1_000)).toMatchObject({ count: 1_000 })
      expect((await rowsOf(caller.tenant))[0]).toBe(1)
      await cleanUp(other)
      expect(await rowsOf(caller.tenant)).toEqual([0, 0, 0, 0])
      expect(await eventsIn(caller)).toEqual([...before, "user.deleted"])
    })

    test("gets nothing new, and its id is taken until the last row is gone", async () => {
      const { caller } = await populated()
      const { store, clock } = context
      await add(caller.tenant, "u")
      await store.users.create(caller, newUser({ id: "v" }))
      const mine = await store.sessions.create(caller, newSession("v", clock.now + day))
      await store.users.delete(caller, "u")
      const rejected = { reason: "USER_NOT_FOUND" }
      const { sessions, accounts, authenticators } = context.other
      await expect(sessions.create(caller, newSession("u", clock.now + day))).rejects.toMatchObject(rejected)
      await expect(sessions.update(caller, mine.sessionToken, { userId: "u" })).rejects.toMatchObject(rejected)
      await expect(accounts.link(caller, newAccount("u"))).rejects.toMatchObject(rejected)
      await expect(authenticators.create(caller, newAuthenticator("u"))).rejects.toMatchObject(rejected)
      const again = () => store.users.create(caller, newUser({ id: "u" }))
      await expect(again()).rejects.toMatchObject({ reason: "USER_ALREADY_EXISTS" })
      await cleanUp(store)
      expect(await again()).toEqual(newUser({ id: "u" }))
      expect(await rowsOf(caller.tenant)).toEqual([2, 1, 0, 0])
    })

    test("may sign up again at once, with the same address, account and passkey", async () => {
      const { caller, account, passkey, session } = await populated()
      const { store, other, clock } = context
      await add(caller.tenant, "u")
      await store.users.delete(caller, "u")
      const user = await other.users.create(caller, newUser({ id: "v", email: "U@example.com" }))
      const linked = await other.accounts.link(caller, { ...account, userId: "v", refresh_token: undefined })
      expect(linked).toEqual({ ...account, userId: "v", refresh_token: undefined })
      await other.authenticators.create(caller, { ...passkey, userId: "v" })
      const { sessionToken } = session
      await other.sessions.create(caller, { ...newSession("v", clock.now + day), sessionToken })
      await cleanUp(store)
      expect(await rowsOf(caller.tenant)).toEqual([1, 1, 1, 1])
      expect(await store.users.getByEmail(caller, "u@example.com")).toEqual(user)
      expect(await store.users.getByAccount(caller, account)).toEqual(user)
      expect(await store.sessions.getWithUser(caller, sessionToken)).toMatchObject({ user })
      expect(await store.authenticators.listByUserId(caller, "v")).toHaveLength(1)
    })
  })

  test("sign-up again with the same account, as a repeatable call", async () => {
    const { caller, account } = await populated()
    await addAccountsTo(caller.tenant, "u")
    const request = (key: string) => ({ owner: "o", key, digest: () => key })
    await context.store.once(caller, request(newId()), async (transaction) => {
      await context.store.users.delete({ ...caller, transaction }, "u")
      return Buffer.of()
    })
    await context.store.users.create(caller, newUser({ id: "v" }))
    await context.store.once(caller, request(newId()), async (transaction) => {
      await context.store.accounts.link({ ...caller, transaction }, { ...account, userId: "v" })
      return Buffer.of()
    })
    expect(await context.other.users.getByAccount(caller, account)).toMatchObject({ id: "v" })
  })

  test("users deleted at the same time, while sessions are created and processes clean up", async () => {
    const caller = await createTenant(context)
    const { store, other, clock } = context
    const ids = ["a", "b", "c"]
    for (const id of ids) {
      await store.users.create(caller, newUser({ id }))
      await addSessions(context, caller.tenant, id)
    }
    const create = async (id: string) => {
      for (;;) await other.sessions.create(caller, newSession(id, clock.now + day))
    }
    const creating = ids.map(create)
    const ended = Promise.allSettled(creating)
    await Promise.all([...ids, ...ids].map((id, n) => (n % 2 ? store : other).users.delete(caller, id)))
    await Promise.all([cleanUp(store), cleanUp(other)])
    for (const one of await ended) expect(one).toMatchObject({ reason: { reason: "USER_NOT_FOUND" } })
    await cleanUp(store)
    expect(await rowsOf(caller.tenant)).toEqual([0, 0, 0, 0])
    expect((await eventsIn(caller)).filter((kind) => kind === "user.deleted")).toHaveLength(3)
  }, 30_000)

  describe.each(["alone", "as a repeatable call"])("thousands of sessions are revoked, %s", (way) => {
    const run = async <T>(caller: Caller, work: (caller: Caller) => Promise<T>): Promise<T> => {
      if (way === "alone") return work(caller)
      let result: T | undefined
      await context.store.once(caller, { owner: "o", key: newId(), digest: () => "d" }, async (transaction) => {
        result = await work({ ...caller, transaction })
        return Buffer.of()
      })
      return result as T
    }

    test("by a new address, in batches; nothing happens if another user has it", async () => {
      const { caller } = await populated()
      await addSessions(context, caller.tenant, "u")
      await context.store.users.create(caller, newUser({ id: "v", email: "v@example.com" }))
      const update = (email: string) =>
        run(caller, (within) =>
          context.store.users.update(within, "u", { email }, { revokeSessionsOnEmailChange: true }),
        )
      await expect(update("v@example.com")).rejects.toMatchObject({ reason: "EMAIL_ALREADY_EXISTS" })
      expect(await rowsOf(caller.tenant)).toEqual([2, manySessions + 1, 1, 1])
      expect(await update("new@example.com")).toMatchObject({ revokedSessions: manySessions + 1 })
      expect(await rowsOf(caller.tenant)).toEqual([2, 0, 1, 1])
      expect((await eventsIn(caller)).filter((kind) => kind === "user.sessions_revoked")).toHaveLength(26)
    })

    test("by an account that is unlinked, and for a user", async () => {
      const { caller, account, session } = await populated()
      await addSessions(context, caller.tenant, "u")
      const { accounts, sessions } = context.store
      const kept = { sessionToken: session.sessionToken }
      expect(await run(caller, (within) => sessions.revokeOfUser(within, "u", kept))).toBe(manySessions)
      await sql("DELETE FROM sessions WHERE tenant = ?", [caller.tenant])
      await addSessions(context, caller.tenant, "u")
      const unlinked = await run(caller, (within) => accounts.unlink(within, account, { revokeSessions: true }))
      expect(unlinked).toMatchObject({ revokedSessions: manySessions })
      expect(await rowsOf(caller.tenant)).toEqual([1, 0, 0, 1])
    })
  })
}
