import { describe, expect, test } from "@jest/globals"
import type { Caller, DeletedRows, Store } from "../../../server/src/store/store.js"
import type { StoredEvent } from "../../../server/src/store/types.js"
import { type ContractContext, createTenant, expiredRows, newId, newUser, outcomes, range } from "./context.js"

/** The fields of an event without its position, tenant and time. */
export type Told = Omit<StoredEvent, "sequence" | "tenant" | "created">

/** Returns all events of a tenant. */
export async function readAll(store: Store, tenant: string): Promise<StoredEvent[]> {
  await store.events.sequence({ tenant })
  const all: StoredEvent[] = []
  for (;;) {
    const page = await store.events.read({ tenant }, { after: all.at(-1)?.sequence ?? 0, limit: 100 })
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
  /** Returns the number of events of a tenant without a sequence. */
  const waiting = async ({ tenant }: Caller) => {
    const sql = "SELECT COUNT(*) AS count FROM events WHERE tenant = ? AND sequence IS NULL"
    const [row] = await context.database.sql(sql, [tenant])
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
      const { last, history } = await store.events.sequence(caller)
      expect(await told(caller.tenant)).toEqual([{ kind: "user.created", userId: "u" }])
      await database.sql("COMMIT")
      const later = await other.events.sequence(caller)
      expect(later).toEqual({ history, last: expect.any(Number) })
      expect(later.last).toBeGreaterThan(last)
      expect((await told(caller.tenant)).map(({ kind }) => kind)).toEqual(["user.created", "user.updated"])
      await database.sql("BEGIN")
      await insert("user.deleted")
      await database.sql("ROLLBACK")
      expect(await other.events.sequence(caller)).toEqual(later)
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
          const { last } = await events.sequence(caller)
          lastWritten = Math.max(lastWritten, last)
          const after = await (n % 2 ? other : store).events.read(caller, { after: 0, limit: 1000 })
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
      expect(await waiting(caller)).toBe(2300)
      const { last } = await store.events.sequence(caller)
      expect(await waiting(caller)).toBe(0)
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

  test("read: returns the following events of the tenant, at most the limit", async () => {
    const [one, two] = [await createTenant(context), await createTenant(context)]
    const { store } = context
    for (const n of range(6)) await store.users.create(n % 2 ? one : two, newUser({ id: `${n}` }))
    const { last } = await store.events.sequence(one)
    await store.events.sequence(two)
    const ids = async (caller: Caller, range: { after: number; limit: number }) =>
      (await store.events.read(caller, range)).map(({ userId }) => userId).join("")
    expect(await ids(one, { after: 0, limit: 10 })).toBe("135")
    expect(await ids(two, { after: 0, limit: 2 })).toBe("02")
    expect(await ids(one, { after: last, limit: 10 })).toBe("")
  })

  test("each tenant has sequences and a history of its own, from its first reader on", async () => {
    const [one, two] = [await createTenant(context), await createTenant(context)]
    const { store, other, database } = context
    const headsOf = async ({ tenant }: Caller) =>
      await database.sql("SELECT history FROM event_head WHERE tenant = ?", [tenant])
    await store.users.create(one, newUser())
    expect(await headsOf(one)).toEqual([])
    const heads = await Promise.all(range(8).flatMap((n) => [one, two].map((n % 2 ? store : other).events.sequence)))
    const [ofOne, ofTwo] = [heads[0], heads[1]]
    expect([ofOne?.last, ofTwo?.last]).toEqual([1, 0])
    expect(ofOne?.history).toMatch(/^[\dA-F]{32}$/)
    expect(ofTwo?.history).not.toBe(ofOne?.history)
    for (const [n, head] of heads.entries()) expect(head).toEqual(heads[n % 2])
    expect(await headsOf(one)).toEqual([{ history: ofOne?.history }])
    for (const _ of range(3)) await store.users.create(two, newUser())
    // Greater ones follow, not always the next: on Galera each member gives every third id.
    expect((await other.events.sequence(two)).last).toBeGreaterThanOrEqual(3)
    expect(await other.events.read(two, { after: 0, limit: 9 })).toHaveLength(3)
    expect((await other.events.sequence(one)).last).toBe(1)
    const gone = { tenant: "gone" }
    await expect(store.events.sequence(gone)).rejects.toMatchObject({ reason: "TENANT_NOT_FOUND" })
    expect(await headsOf(gone)).toEqual([])
  })

  /** Runs one round of the cleanup over all tenants, in batches. Returns those that deleted something. */
  async function deleteBefore(ms: number, limit = 1000): Promise<DeletedRows[]> {
    const events = expiredRows(context.store, "events")
    const batches: DeletedRows[] = []
    for (;;) {
      const batch = await events.deleteBatch({}, { from: new Date(0), before: new Date(ms), limit })
      if (batch === null) return batches
      if (batch.count > 0) batches.push(batch)
    }
  }

  test("history: identifies the tenant's events of the database; `before` covers exactly the deleted ones", async () => {
    const { store, other, clock } = context
    const caller = await createTenant(context)
    // Delete the events of other tests first.
    await deleteBefore(Date.UTC(9000, 0, 1))
    const empty = await store.events.history(caller)
    expect(empty).toEqual({ id: expect.stringMatching(/^[\dA-F]{32}$/), before: 0, last: 0 })
    const start = clock.now
    try {
      for (const n of range(5)) {
        clock.now = start + n
        await store.users.create(caller, newUser({ id: `${n}` }))
      }
    } finally {
      clock.now = start
    }
    expect(await deleteBefore(start)).toEqual([])
    const all = await readAll(store, caller.tenant)
    expect(await other.events.history(caller)).toEqual({ ...empty, last: all[4]?.sequence })
    expect(await deleteBefore(start + 3, 2)).toEqual([
      { count: 2, first: new Date(start), last: new Date(start + 1) },
      { count: 1, first: new Date(start + 2), last: new Date(start + 2) },
    ])
    expect(await deleteBefore(start + 3, 2)).toEqual([])
    expect((await readAll(other, caller.tenant)).map(({ userId }) => userId)).toEqual(["3", "4"])
    const { before, last } = await other.events.history(caller)
    expect(before).toBeGreaterThanOrEqual(all[2]?.sequence as number)
    expect(before).toBeLessThan(all[3]?.sequence as number)
    expect(last).toBe(all[4]?.sequence)
  })

  test("the cleanup stops at the first event of a tenant to keep, so that the rest has no gaps", async () => {
    const { store, clock } = context
    const [caller, next] = [await createTenant(context), await createTenant(context)]
    const start = clock.now
    await deleteBefore(Date.UTC(9000, 0, 1))
    try {
      for (const ms of [1, 9, 1]) {
        clock.now = start + ms
        for (const one of [caller, next]) await store.users.create(one, newUser({ id: `${newId()}` }))
      }
    } finally {
      clock.now = start
    }
    expect(await deleteBefore(start + 2)).toMatchObject([{ count: 1 }, { count: 1 }])
    expect(await deleteBefore(start + 2)).toEqual([])
    for (const { tenant } of [caller, next]) expect(await readAll(store, tenant)).toHaveLength(2)
    await deleteBefore(Date.UTC(9000, 0, 1))
  })
}
