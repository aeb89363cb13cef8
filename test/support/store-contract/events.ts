import { expect, test } from "@jest/globals"
import type { Caller, Store, Transaction } from "../../../server/src/store/store.js"
import {
  type ContractContext,
  createTenant,
  day,
  newAccount,
  newAuthenticator,
  newId,
  newSession,
  newUser,
  outcomes,
  range,
} from "./context.js"
import { readAll, type Told, toldEvents } from "./event-log.js"

/** Declares the tests of the events that writes add. */
export function eventContract(context: ContractContext): void {
  const told = (tenant: string) => toldEvents(context.other, tenant)

  /** Runs one write of each kind, one after the other. Returns the expected events. */
  async function everyWrite(store: Store, caller: Caller): Promise<Told[]> {
    const { users, accounts, sessions, verificationTokens, authenticators } = store
    const later = context.clock.now + day
    const userId = newId()
    const [account, other] = [newAccount(userId), newAccount(userId, { provider: "gitlab" })]
    const passkey = newAuthenticator(userId)
    const token = { identifier: `${newId()}@example.com`, token: newId(), expires: new Date(later) }
    await users.create(caller, newUser({ id: userId, email: `${newId()}@example.com` }))
    await users.update(caller, userId, { name: "N" })
    await accounts.link(caller, account)
    await accounts.link(caller, { ...account, access_token: "new" })
    await accounts.link(caller, other)
    await accounts.unlink(caller, other)
    await authenticators.create(caller, passkey)
    await authenticators.updateCounter(caller, passkey.credentialID, 7)
    await authenticators.rename(caller, passkey.credentialID, "Laptop")
    await authenticators.delete(caller, passkey.credentialID)
    await verificationTokens.create(caller, token)
    await verificationTokens.use(caller, token)
    const made = []
    for (const _ of range(6)) made.push(await sessions.create(caller, newSession(userId, later)))
    const [a = {}, b = {}, c = {}, d = {}, e = {}] = made as { id?: string; sessionToken?: string }[]
    await sessions.update(caller, a.sessionToken as string, { extra: { role: "admin" } })
    await sessions.access(caller, b.sessionToken as string, { maxAge: 2 * day, updateAge: 0 })
    await sessions.delete(caller, a.sessionToken as string)
    await sessions.revoke(caller, b.id as string)
    await sessions.revokeOfUser(caller, userId, { id: c.id as string, sessionToken: d.sessionToken as string })
    await sessions.revokeOfUser(caller, userId, { sessionToken: e.sessionToken as string })
    await sessions.create(caller, { ...newSession(userId, later), sessionToken: a.sessionToken as string })
    await sessions.revokeOfUsers(caller, ["nobody", userId, userId])
    await sessions.create(caller, newSession(userId, later))
    await users.disable(caller, userId, {})
    await users.enable(caller, userId)
    await users.delete(caller, userId)
    const again = (await readAll(store, caller.tenant)).filter(({ kind }) => kind === "session.created").slice(-2)
    return [
      { kind: "user.created", userId },
      { kind: "user.updated", userId },
      { kind: "account.linked", userId, provider: "github" },
      { kind: "account.updated", userId, provider: "github" },
      { kind: "account.linked", userId, provider: "gitlab" },
      { kind: "account.unlinked", userId, provider: "gitlab" },
      { kind: "authenticator.created", userId },
      { kind: "authenticator.updated", userId },
      { kind: "authenticator.updated", userId },
      { kind: "authenticator.deleted", userId },
      { kind: "verification_token.created" },
      { kind: "verification_token.used" },
      ...made.map(({ id }): Told => ({ kind: "session.created", userId, sessionId: id })),
      { kind: "session.updated", userId, sessionId: a.id },
      { kind: "session.updated", userId, sessionId: b.id },
      { kind: "session.deleted", userId, sessionId: a.id },
      { kind: "session.deleted", userId, sessionId: b.id },
      { kind: "user.sessions_revoked", userId, sessionId: c.id },
      { kind: "user.sessions_revoked", userId },
      { kind: "session.created", userId, sessionId: again[0]?.sessionId },
      { kind: "user.sessions_revoked", userId },
      { kind: "session.created", userId, sessionId: again[1]?.sessionId },
      { kind: "user.disabled", userId },
      { kind: "user.sessions_revoked", userId },
      { kind: "user.enabled", userId },
      { kind: "user.deleted", userId },
    ]
  }

  test("each write adds one, which contains only ids, in the order of the writes, for its tenant", async () => {
    const caller = await createTenant(context)
    const expected = await everyWrite(context.store, caller)
    expect(await told(caller.tenant)).toEqual(expected)
    const all = await readAll(context.store, caller.tenant)
    expect(new Set(all.map(({ tenant }) => tenant))).toEqual(new Set([caller.tenant]))
    expect(all.every(({ created }) => created.getTime() === context.clock.now)).toBe(true)
    const sequences = all.map(({ sequence }) => sequence)
    expect(sequences).toEqual([...new Set(sequences)].sort((one, two) => one - two))
    // These are all columns, so nothing else can be stored.
    const [row = {}] = await context.database.sql("SELECT * FROM events WHERE tenant = ?", [caller.tenant])
    const columns = ["created", "id", "kind", "provider", "sequence", "session_id", "tenant", "user_id"]
    expect(Object.keys(row).sort()).toEqual(columns)
  })

  test("a write with an idempotency key adds its event in the same transaction, and none when it is repeated", async () => {
    const caller = await createTenant(context)
    const user = newUser()
    const request = { owner: "o", key: newId(), digest: () => "d" }
    const work = async (transaction: Transaction) => {
      await context.store.users.create({ ...caller, transaction }, user)
      return Buffer.from("answer")
    }
    for (const _ of range(2)) await context.store.once(caller, request, work)
    expect(await told(caller.tenant)).toEqual([{ kind: "user.created", userId: user.id }])
    const failing = context.store.once(caller, { ...request, key: newId() }, async (transaction) => {
      await context.store.users.create({ ...caller, transaction }, newUser())
      throw new Error("not this time")
    })
    await expect(failing).rejects.toThrow("not this time")
    expect(await told(caller.tenant)).toHaveLength(1)
  })

  test.each([false, true])(
    "the replacement of a provisional user adds one too, with an idempotency key: %s",
    async (hasKey) => {
      const caller = await createTenant(context)
      const { clock } = context
      const options = { clock: () => clock.now, provisionalMs: day, eventsKeepMs: day }
      const store = await context.database.openStore(options)
      const [first, second] = [newUser({ email: "a@example.com" }), newUser({ email: "a@example.com" })]
      await store.users.create(caller, first, { provisional: true })
      if (hasKey) {
        await store.once(caller, { owner: "owner", key: newId(), digest: () => "" }, async (transaction) => {
          await store.users.create({ ...caller, transaction }, second)
          return Buffer.alloc(0)
        })
      } else await store.users.create(caller, second)
      expect(await told(caller.tenant)).toEqual([
        { kind: "user.created", userId: first.id },
        { kind: "user.deleted", userId: first.id },
        { kind: "user.created", userId: second.id },
      ])
    },
  )

  test("a write that fails or writes nothing adds none", async () => {
    const caller = await createTenant(context)
    const { users, accounts, sessions, verificationTokens, authenticators } = context.store
    const user = newUser({ email: "a@example.com" })
    await users.create(caller, user)
    const later = context.clock.now + day
    const session = await sessions.create(caller, newSession(user.id, later))
    const passkey = newAuthenticator(user.id, { counter: 5 })
    await authenticators.create(caller, passkey)
    const before = await told(caller.tenant)
    const token = { identifier: "i", token: "t", expires: new Date(later) }
    await outcomes([
      users.create(caller, user),
      users.create(caller, newUser({ email: user.email })),
      users.update(caller, "nobody", { name: "N" }),
      users.disable(caller, "nobody", {}),
      users.disable(caller, user.id, { until: new Date(context.clock.now) }),
      users.enable(caller, user.id),
      users.delete(caller, "nobody"),
      accounts.link(caller, newAccount("nobody")),
      accounts.unlink(caller, newAccount(user.id)),
      sessions.create(caller, newSession("nobody", later)),
      sessions.create(caller, { ...session, userId: user.id }),
      sessions.update(caller, session.sessionToken, { userId: "nobody" }),
      sessions.update(caller, "none", {}),
      sessions.delete(caller, "none"),
      sessions.access(caller, session.sessionToken, { maxAge: day, updateAge: day }),
      sessions.revoke(caller, "none"),
      sessions.revokeOfUser(caller, "nobody", {}),
      sessions.revokeOfUser(caller, user.id, { id: session.id }),
      sessions.revokeOfUsers(caller, ["nobody"]),
      authenticators.create(caller, passkey),
      authenticators.updateCounter(caller, passkey.credentialID, 4),
      authenticators.updateCounter(caller, "none", 4),
      authenticators.rename(caller, passkey.credentialID, "Laptop", "nobody"),
      authenticators.delete(caller, passkey.credentialID, "nobody"),
      authenticators.delete(caller, "none"),
      users.update(caller, user.id, { name: "N" }, { etag: "stale" }),
      verificationTokens.use(caller, token),
    ])
    expect(await told(caller.tenant)).toEqual(before)
  })

  test("the removal of an expired session adds none", async () => {
    const caller = await createTenant(context)
    const { store } = context
    const user = await store.users.create(caller, newUser())
    const session = await store.sessions.create(caller, newSession(user.id, Date.now() - day))
    expect(await store.sessions.getWithUser(caller, session.sessionToken)).toBeNull()
    expect((await told(caller.tenant)).map(({ kind }) => kind)).toEqual(["user.created", "session.created"])
  })

  test("a store that keeps no events adds none", async () => {
    const caller = await createTenant(context)
    const store = await context.database.openStore({ clock: () => context.clock.now })
    expect([store.events.isEnabled, context.store.events.isEnabled]).toEqual([false, true])
    await everyWrite(store, caller)
    expect(await context.database.sql("SELECT kind FROM events WHERE tenant = ?", [caller.tenant])).toEqual([])
  })
}
