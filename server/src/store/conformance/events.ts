import { describe, expect, test } from "@jest/globals"
import type { Caller, Store, Transaction } from "../store.js"
import type { StoredEvent } from "../types.js"
import {
  type ContractContext,
  day,
  newAccount,
  newAuthenticator,
  newId,
  newSession,
  newUser,
  outcomes,
  range,
} from "./context.js"

/** The fields of an event without its position, tenant and time. */
type Told = Omit<StoredEvent, "sequence" | "tenant" | "created">

/** Declares the tests of the events that writes add. */
export function eventContract(context: ContractContext): void {
  const readAll = async (store: Store, tenant: string): Promise<StoredEvent[]> => {
    await store.events.sequence({})
    const all: StoredEvent[] = []
    for (;;) {
      const page = await store.events.read({}, { after: all.at(-1)?.sequence ?? 0, limit: 100, tenant })
      all.push(...page)
      if (page.length < 100) return all
    }
  }
  const told = async (tenant: string): Promise<Told[]> =>
    (await readAll(context.other, tenant)).map(({ sequence: _, tenant: __, created: ___, ...rest }) =>
      Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    ) as Told[]

  /** Returns the number of events without a sequence. */
  const waiting = async () => {
    const [row] = await context.database.sql("SELECT COUNT(*) AS count FROM events WHERE sequence IS NULL")
    return Number(row?.count)
  }

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
    const caller = { tenant: newId() }
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
    const caller = { tenant: newId() }
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
      const caller = { tenant: newId() }
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
    const caller = { tenant: newId() }
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
    const caller = { tenant: newId() }
    const { store } = context
    const user = await store.users.create(caller, newUser())
    const session = await store.sessions.create(caller, newSession(user.id, Date.now() - day))
    expect(await store.sessions.getWithUser(caller, session.sessionToken)).toBeNull()
    expect((await told(caller.tenant)).map(({ kind }) => kind)).toEqual(["user.created", "session.created"])
  })

  test("a store that keeps no events adds none", async () => {
    const caller = { tenant: newId() }
    const store = await context.database.openStore({ clock: () => context.clock.now })
    expect([store.events.isEnabled, context.store.events.isEnabled]).toEqual([false, true])
    await everyWrite(store, caller)
    expect(await context.database.sql("SELECT kind FROM events WHERE tenant = ?", [caller.tenant])).toEqual([])
  })

  describe("sequence", () => {
    test("assigns none to uncommitted events, and a higher one to events that commit late", async () => {
      const caller = { tenant: newId() }
      const { database, store, other } = context
      const isSqlite = (await outcomes([database.sql("SELECT sqlite_version()")])).ok === 1
      const insert = (kind: string) =>
        database.sql("INSERT INTO events (tenant, kind, created) VALUES (?, ?, ?)", [
          caller.tenant,
          kind,
          database.moment(context.clock.now),
        ])
      // On SQLite a writer locks the whole database.
      if (isSqlite) return
      await database.sql("BEGIN")
      await insert("user.updated")
      await store.users.create(caller, newUser({ id: "u" }))
      const last = await store.events.sequence({})
      expect(await told(caller.tenant)).toEqual([{ kind: "user.created", userId: "u" }])
      await database.sql("COMMIT")
      const later = await other.events.sequence({})
      expect(later).toBeGreaterThan(last)
      expect((await told(caller.tenant)).map(({ kind }) => kind)).toEqual(["user.created", "user.updated"])
      await database.sql("BEGIN")
      await insert("user.deleted")
      await database.sql("ROLLBACK")
      expect(await other.events.sequence({})).toBe(later)
      expect(await told(caller.tenant)).toHaveLength(2)
    })

    test("concurrent calls assign one to each event, and return none that is lower than an earlier result", async () => {
      const caller = { tenant: newId() }
      const { store, other } = context
      const users = range(60).map(() => newUser())
      let lastWritten = 0
      const writing = Promise.all(
        users.map(async (user, n) => {
          const { users, events } = n % 2 ? store : other
          await users.create(caller, user)
          const last = await events.sequence({})
          lastWritten = Math.max(lastWritten, last)
          const after = await (n % 2 ? other : store).events.read({}, { after: 0, limit: 1000, tenant: caller.tenant })
          expect(after.filter(({ sequence }) => sequence <= last).map(({ userId }) => userId)).toContain(user.id)
        }),
      )
      await writing
      const all = await readAll(store, caller.tenant)
      expect(all.map(({ userId }) => userId).sort()).toEqual(users.map(({ id }) => id).sort())
      expect(new Set(all.map(({ sequence }) => sequence)).size).toBe(60)
      expect(all.at(-1)?.sequence).toBeLessThanOrEqual(lastWritten)
    })

    test("assigns more than one statement or one transaction can", async () => {
      const caller = { tenant: newId() }
      const { database, store, clock } = context
      const row = "(?, 'user.updated', ?)"
      const values = range(100).flatMap(() => [caller.tenant, database.moment(clock.now)])
      const rows = range(100).map(() => row)
      for (const _ of range(23)) {
        await database.sql(`INSERT INTO events (tenant, kind, created) VALUES ${rows.join(", ")}`, values)
      }
      expect(await waiting()).toBeGreaterThanOrEqual(2300)
      const last = await store.events.sequence({})
      expect(await waiting()).toBe(0)
      const all = await readAll(store, caller.tenant)
      expect(all).toHaveLength(2300)
      expect(all.at(-1)?.sequence).toBe(last)
    })
  })

  test("cursors: preserve the position, are valid for the tenant only, and reveal nothing", async () => {
    const { store, other } = context
    const [one, two] = [{ tenant: newId() }, { tenant: newId() }]
    const position = { history: "ABC", sequence: Number.MAX_SAFE_INTEGER }
    const cursor = store.events.sealer(one)(position)
    expect(other.events.positionOf(one, cursor)).toEqual(position)
    expect(cursor).not.toBe(store.events.sealer(one)(position))
    const broken = [
      "",
      "x",
      `${cursor}AAAA`,
      cursor.slice(1),
      cursor.slice(17),
      cursor.replace("sealed", "s"),
      " ".repeat(99),
    ]
    for (const [caller, given] of [[two, cursor], ...broken.map((given) => [one, given])] as [Caller, string][]) {
      const opening = () => other.events.positionOf(caller, given)
      expect(opening).toThrow(expect.objectContaining({ reason: "INVALID_FIELD", field: "start_cursor" }))
    }
  })

  test("read: returns the following events, of one tenant or of all, at most the limit", async () => {
    const [one, two] = [{ tenant: newId() }, { tenant: newId() }]
    const { store } = context
    const start = await store.events.sequence({})
    for (const n of range(6)) await store.users.create(n % 2 ? one : two, newUser({ id: `${n}` }))
    const last = await store.events.sequence({})
    const ids = async (range: { after: number; limit: number; tenant?: string }) =>
      (await store.events.read({}, range)).map(({ userId }) => userId).join("")
    expect(await ids({ after: start, limit: 10 })).toBe("012345")
    expect(await ids({ after: start, limit: 4 })).toBe("0123")
    expect(await ids({ after: start, limit: 10, tenant: one.tenant })).toBe("135")
    expect(await ids({ after: start, limit: 2, tenant: two.tenant })).toBe("02")
    expect(await ids({ after: last, limit: 10 })).toBe("")
  })

  test("last: the highest sequence of the tenant's events; null if there is none", async () => {
    const { store, other } = context
    const [one, two] = [{ tenant: newId() }, { tenant: newId() }]
    expect(await other.events.last(one)).toBeNull()
    await store.users.create(one, newUser())
    // An event without a sequence does not count.
    expect(await other.events.last(one)).toBeNull()
    const sequence = await store.events.sequence({})
    expect(await other.events.last(one)).toBe(sequence)
    await store.users.create(two, newUser())
    await store.events.sequence({})
    expect(await other.events.last(one)).toBe(sequence)
    expect(await other.events.last(two)).toBe((await readAll(store, two.tenant))[0]?.sequence)
  })

  test("history: identifies the database; `before` covers exactly the deleted events", async () => {
    const { store, other, clock } = context
    const caller = { tenant: newId() }
    const events = store.expired.tables.find(({ table }) => table === "events")
    const deleteBefore = (ms: number, limit = 1000) =>
      events?.deleteBatch({}, { from: new Date(0), before: new Date(ms), limit })
    // Delete the events of other tests first.
    while ((await deleteBefore(Date.UTC(9000, 0, 1))) != null);
    const empty = await store.events.history({})
    expect(empty).toEqual({ id: expect.stringMatching(/^[\dA-F]{32}$/), before: empty.last, last: empty.last })
    const start = clock.now
    try {
      for (const n of range(5)) {
        clock.now = start + n
        await store.users.create(caller, newUser({ id: `${n}` }))
      }
    } finally {
      clock.now = start
    }
    expect(await deleteBefore(start)).toBeNull()
    const all = await readAll(store, caller.tenant)
    expect(await other.events.history({})).toEqual({ ...empty, last: all[4]?.sequence })
    expect(await deleteBefore(start + 3, 2)).toEqual({ count: 2, first: new Date(start), last: new Date(start + 1) })
    expect(await deleteBefore(start + 3, 2)).toEqual({
      count: 1,
      first: new Date(start + 2),
      last: new Date(start + 2),
    })
    expect(await deleteBefore(start + 3, 2)).toBeNull()
    expect((await readAll(other, caller.tenant)).map(({ userId }) => userId)).toEqual(["3", "4"])
    const { before, last } = await other.events.history({})
    expect(before).toBeGreaterThanOrEqual(all[2]?.sequence as number)
    expect(before).toBeLessThan(all[3]?.sequence as number)
    expect(last).toBe(all[4]?.sequence)
  })

  test("the cleanup stops at the first event to keep, so that the rest has no gaps", async () => {
    const { store, clock } = context
    const caller = { tenant: newId() }
    const events = store.expired.tables.find(({ table }) => table === "events")
    const start = clock.now
    const everything = { from: new Date(0), before: new Date(Date.UTC(9000, 0, 1)), limit: 1000 }
    const deleteAll = { ...everything, before: new Date(start + 2) }
    while ((await events?.deleteBatch({}, everything)) != null);
    try {
      for (const ms of [1, 9, 1]) {
        clock.now = start + ms
        await store.users.create(caller, newUser({ id: `${newId()}` }))
      }
    } finally {
      clock.now = start
    }
    expect(await events?.deleteBatch({}, deleteAll)).toMatchObject({ count: 1 })
    expect(await events?.deleteBatch({}, deleteAll)).toBeNull()
    expect(await readAll(store, caller.tenant)).toHaveLength(2)
    while ((await events?.deleteBatch({}, everything)) != null);
  })
}
