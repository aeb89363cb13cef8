import { describe, expect, test } from "@jest/globals"
import type { AuditEntry, AuditFilter, PageRequest } from "../../../server/src/store/types.js"
import { anyone, type ContractContext, createTenant, expiredRows, newId, newUser, outcomes, range } from "./context.js"
import { allPages, expectOwnTokens } from "./pages.js"

const ofTenant = ({ tenant }: { tenant: string }, entries: readonly AuditEntry[]) =>
  entries.map((entry) => ({ tenant, entry }))

export function auditContract(context: ContractContext): void {
  const now = () => context.clock.now
  const entryOf = (afterMs: number, entry: Partial<AuditEntry> = {}): AuditEntry => ({
    created: new Date(now() + afterMs),
    method: "authwire.v1.UserService/DeleteUser",
    code: "OK",
    ...entry,
  })
  const listed = async (caller: { tenant: string }, filter: AuditFilter = {}, size = 1000) =>
    (await allPages(size, (page) => context.other.audit.list(caller, filter, page))).flat()
  const whole = (): AuditEntry =>
    entryOf(3, {
      keyId: "key é",
      subject: "sha256:6ca13d52ca70c883",
      code: "NOT_FOUND",
      reason: "USER_NOT_FOUND",
      requestId: newId(),
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      count: 3,
      fields: { session_id: "A", revoked: 7 },
    })

  describe("list", () => {
    test("returns entries with every field, the newest first, and those of one millisecond in the reverse order", async () => {
      const caller = await createTenant(context)
      const entries = [entryOf(1), whole(), entryOf(2, { requestId: "a" }), entryOf(2, { requestId: "b" })]
      await context.store.audit.add({}, ofTenant(caller, entries))
      expect(await listed(caller)).toEqual([entries[1], entries[3], entries[2], entries[0]])
      expect(await listed({ tenant: newId() })).toEqual([])
    })

    test("selects by user, key, method and time, byte for byte", async () => {
      const caller = await createTenant(context)
      const entries = ["k-a", "k-A", "k-a "].flatMap((name, n) => [
        entryOf(3 * n, { subject: name, requestId: `subject ${n}` }),
        entryOf(3 * n + 1, { keyId: name, requestId: `key ${n}` }),
        entryOf(3 * n + 2, { method: name, requestId: `method ${n}` }),
      ])
      await context.store.audit.add({}, ofTenant(caller, entries))
      const found = async (filter: AuditFilter) => (await listed(caller, filter)).map(({ requestId }) => requestId)
      expect(await found({ subject: "k-A" })).toEqual(["subject 1"])
      expect(await found({ keyId: "k-a " })).toEqual(["key 2"])
      expect(await found({ method: "k-a" })).toEqual(["method 0"])
      const since = new Date(now() + 2)
      const before = new Date(now() + 5)
      expect(await found({ since, before })).toEqual(["key 1", "subject 1", "method 0"])
      expect(await found({ method: "k-a", since, before })).toEqual(["method 0"])
      expect(await found({ subject: "k-a", since })).toEqual([])
      expect(await found({ method: "k-A", before })).toEqual([])
    })

    test.each([1, 16, 17, 1000])("has each entry on one page, whatever its size: %d", async (size) => {
      const caller = await createTenant(context)
      const entries = range(35).map((n) => entryOf(n >> 2, { subject: n % 5 === 0 ? "other" : "u", requestId: `${n}` }))
      await context.store.audit.add({}, ofTenant(caller, entries))
      const newest = [...entries].reverse()
      expect(await listed(caller, {}, size)).toEqual(newest)
      const ofUser = newest.filter(({ subject }) => subject === "u")
      expect(await listed(caller, { subject: "u" }, size)).toEqual(ofUser)
    })

    test("rejects a token of another list", async () => {
      const caller = await createTenant(context)
      await context.store.audit.add({}, ofTenant(caller, [entryOf(0, { subject: "u" }), entryOf(1, { subject: "u" })]))
      const entries = (who: { tenant: string }, filter: AuditFilter) => (page: PageRequest) =>
        context.store.audit.list(who, filter, page)
      const others = [entries({ tenant: newId() }, { subject: "u" })]
      await expectOwnTokens([entries(caller, {}), entries(caller, { subject: "u" })], others)
    })
  })

  describe("together", () => {
    const stored = (subject: string) =>
      context.database.sql("SELECT method FROM audit_entries WHERE subject = ?", [subject])

    test("commits the entries with the writes of the work, and neither if it throws", async () => {
      const user = newUser()
      const create = (fails: boolean) =>
        context.store.audit.together(anyone, async (transaction) => {
          const result = await context.store.users.create({ ...anyone, transaction }, user)
          if (fails) throw new Error("of the work")
          return { result, entries: [entryOf(0, { subject: user.id })] }
        })
      await expect(create(true)).rejects.toThrow("of the work")
      expect(await context.other.users.get(anyone, user.id)).toBeNull()
      expect(await stored(user.id)).toEqual([])
      expect(await create(false)).toEqual(user)
      expect(await context.other.users.get(anyone, user.id)).toEqual(user)
      expect(await stored(user.id)).toHaveLength(1)
    })

    test("belongs to the transaction of the caller, if there is one", async () => {
      const user = newUser()
      const request = { owner: "k", key: newId(), digest: () => "d" }
      const create = (fails: boolean) =>
        context.store.once(anyone, request, (transaction) =>
          context.store.audit
            .together({ ...anyone, transaction }, async (inside) => {
              await context.store.users.create({ ...anyone, transaction: inside }, user)
              return { result: Buffer.from("answer"), entries: [entryOf(0, { subject: user.id })] }
            })
            .then((answer) => {
              if (fails) throw new Error("after it")
              return answer
            }),
        )
      await expect(create(true)).rejects.toThrow("after it")
      expect(await stored(user.id)).toEqual([])
      await create(false)
      await create(false)
      expect(await stored(user.id)).toHaveLength(1)
    })

    test("concurrent writes of one user have an entry each if they succeed", async () => {
      const user = newUser({ email: `${newId()}@example.com` })
      const creates = range(20).map((n) => {
        const store = n % 2 === 0 ? context.store : context.other
        return store.audit.together(anyone, async (transaction) => {
          const result = await store.users.create({ ...anyone, transaction }, { ...user, id: `${user.id} ${n}` })
          return { result, entries: [entryOf(0, { subject: user.id })] }
        })
      })
      expect(await outcomes(creates)).toEqual({ ok: 1, EMAIL_ALREADY_EXISTS: 19 })
      expect(await stored(user.id)).toHaveLength(1)
    })
  })

  test("entries are cleaned up when their time is over, and not without one", async () => {
    const caller = await createTenant(context)
    const store = await context.database.openStore({ clock: now, auditKeepMs: 1000 })
    await store.audit.add(
      {},
      ofTenant(caller, [entryOf(-2000, { requestId: "old" }), entryOf(0, { requestId: "new" })]),
    )
    const rows = store.expired.tables.find(({ table }) => table === "audit_entries")
    expect(rows?.keepMs).toBe(1000)
    const span = { from: new Date(0), before: new Date(now() - 1000), limit: 100 }
    expect(await expiredRows(store, "audit_entries").deleteBatch({}, span)).toMatchObject({ count: 1 })
    expect((await listed(caller)).map(({ requestId }) => requestId)).toEqual(["new"])
    expect(context.store.expired.tables.some(({ table }) => table === "audit_entries")).toBe(false)
    await store.close()
  })
}
