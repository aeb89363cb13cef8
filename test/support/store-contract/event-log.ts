import { describe, expect, test } from "@jest/globals"
import type { Caller, Store } from "../../../server/src/store/store.js"
import type { StoredEvent } from "../../../server/src/store/types.js"
import { type ContractContext, createTenant, newId, newUser, outcomes, range } from "./context.js"

/** The fields of an event without its position, tenant and time. */
export type Told = Omit<StoredEvent, "sequence" | "tenant" | "created">

/** Returns all events of a tenant. */
export async function readAll(store: Store, tenant: string): Promise<StoredEvent[]> {
  await store.events.sequence({})
  const all: StoredEvent[] = []
  for (;;) {
    const page = await store.events.read({}, { after: all.at(-1)?.sequence ?? 0, limit: 100, tenant })
    all.push(...page)
    if (page.length < 100) return all
  }
}

/** Returns all events of a tenant without what differs from run to run. */
export async function toldEvents(store: Store, tenant: string): Promise<Told[]> {
  return (await readAll(store, tenant)).map(({ sequence: _, tenant: __, created: ___, ...rest }) =>
    Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
  ) as Told[]
}

/** Declares the tests of the events as they are read: their sequence, cursors, history and cleanup. */
export function eventLogContract(context: ContractContext): void {
  const told = (tenant: string) => toldEvents(context.other, tenant)
  /** Returns the number of events without a sequence. */
  const waiting = async () => {
    const [row] = await context.database.sql("SELECT COUNT(*) AS count FROM events WHERE sequence IS NULL")
    return Number(row?.count)
  }

  describe("sequence", () => {
    test("assigns none to uncommitted events, and a higher one to events that commit late", async () => {
      const caller = await createTenant(context)
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
      const caller = await createTenant(context)
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
      const caller = await createTenant(context)
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
    const [one, two] = [await createTenant(context), await createTenant(context)]
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
    const [one, two] = [await createTenant(context), await createTenant(context)]
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
    const [one, two] = [await createTenant(context), await createTenant(context)]
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
    const caller = await createTenant(context)
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
    const caller = await createTenant(context)
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
