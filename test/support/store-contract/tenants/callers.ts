import { describe, expect, test } from "@jest/globals"
import { anyone, type ContractContext, newId, newUser, range } from "../context.js"

export function callerContract(context: ContractContext): void {
  /** Locks a user's row, or more on some engines, until `release` is called. */
  async function lock(id: string) {
    await context.database.sql("BEGIN")
    await context.database.sql("UPDATE users SET name = 'locked' WHERE id = ?", [id])
    return { release: () => context.database.sql("COMMIT") }
  }
  const nameOf = async (id: string) =>
    (await context.database.sql("SELECT name FROM users WHERE id = ?", [id]))[0]?.name

  describe("a write that meets a lock", () => {
    test("S-51: is retried until the lock is released", async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const { release } = await lock(id)
      const met = context.database.lockMet()
      const updating = context.store.users.update(anyone, id, { name: "updated" })
      await met
      await release()
      expect(await updating).toMatchObject({ name: "updated" })
      expect(await nameOf(id)).toBe("updated")
    })

    test("is aborted with its caller's signal, with nothing written", async () => {
      const { id } = await context.store.users.create(anyone, newUser())
      const { release } = await lock(id)
      const gone = new Error("the caller is gone")
      const leaving = new AbortController()
      const met = context.database.lockMet()
      const updating = context.store.users.update({ ...anyone, signal: leaving.signal }, id, { name: "updated" })
      await met
      leaving.abort(gone)
      await expect(updating).rejects.toBe(gone)
      await release()
      expect(await nameOf(id)).toBe("locked")
    })
  })

  describe("more calls than the database takes", () => {
    test("wait in order, and beyond the limit fail at once with QUEUE_FULL", async () => {
      const store = await context.database.openStore({ poolSize: 1, queueLimit: 2 })
      const { id } = await store.users.create(anyone, newUser())
      const { release } = await lock(id)
      const order: string[] = []
      const first = store.users.update(anyone, id, { name: "first" }).then(() => order.push("first"))
      const second = store.users.update(anyone, id, { name: "second" }).then(() => order.push("second"))
      const third = store.users.update(anyone, id, {}).then((user) => order.push(`third after ${user?.name}`))
      await expect(store.users.create(anyone, newUser({ id: `${id}!` }))).rejects.toMatchObject({
        reason: "QUEUE_FULL",
      })
      // The rejection did not wait for any of the other calls.
      expect(order).toEqual([])
      await release()
      await Promise.all([first, second, third])
      expect(order).toEqual(["first", "second", "third after second"])
      expect(await nameOf(`${id}!`)).toBeUndefined()
      expect(await store.users.get(anyone, id)).toMatchObject({ name: "second" })
    })

    test("a waiting call can be aborted, and the next call takes its slot in the queue", async () => {
      const store = await context.database.openStore({ poolSize: 1, queueLimit: 1 })
      const { id } = await store.users.create(anyone, newUser())
      const { release } = await lock(id)
      const first = store.users.update(anyone, id, { name: "first" })
      const gone = new Error("the caller is gone")
      const leaving = new AbortController()
      const second = store.users.update({ ...anyone, signal: leaving.signal }, id, { name: "second" })
      leaving.abort(gone)
      await expect(second).rejects.toBe(gone)
      const third = store.users.update(anyone, id, {})
      await release()
      expect(await first).toMatchObject({ name: "first" })
      expect(await third).toMatchObject({ name: "first" })
    })

    test("a call whose signal has aborted before does nothing", async () => {
      const gone = new Error("the caller is gone")
      const user = newUser()
      await expect(context.store.users.create({ ...anyone, signal: AbortSignal.abort(gone) }, user)).rejects.toBe(gone)
      expect(await nameOf(user.id)).toBeUndefined()
    })

    test("500 concurrent calls all complete", async () => {
      const users = range(250).map(() => newUser())
      const created = users.map((user, n) => (n % 2 ? context.store : context.other).users.create(anyone, user))
      await Promise.all(created)
      const found = await Promise.all(users.map((user) => context.store.users.get(anyone, user.id)))
      expect(found).toEqual(users)
    })

    test("ping and the list of valid keys do not wait in the queue", async () => {
      const store = await context.database.openStore({ poolSize: 1, queueLimit: 0 })
      const { id } = await store.users.create(anyone, newUser())
      const { release } = await lock(id)
      const updating = store.users.update(anyone, id, { name: "updated" })
      await Promise.all([store.ping({}), store.ping({})])
      expect((await store.apiKeys.listValid({}, new Date())).keys).toEqual(expect.any(Array))
      await release()
      await updating
    })
  })

  describe("close", () => {
    test("may be called twice, and afterwards everything fails with DATABASE_UNAVAILABLE", async () => {
      const store = await context.database.openStore()
      await store.ping({})
      await Promise.all([store.close(), store.close()])
      await store.close()
      const unavailable = { reason: "DATABASE_UNAVAILABLE" }
      await expect(store.users.get(anyone, newId())).rejects.toMatchObject(unavailable)
      await expect(store.users.update(anyone, newId(), {})).rejects.toMatchObject(unavailable)
      await expect(store.ping({})).rejects.toMatchObject(unavailable)
    })

    test("ends waiting and active calls", async () => {
      const store = await context.database.openStore({ poolSize: 1 })
      const { id } = await store.users.create(anyone, newUser())
      const { release } = await lock(id)
      const met = context.database.lockMet()
      const calls = range(3).map(() => store.users.update(anyone, id, { name: "updated" }))
      const ends = Promise.allSettled(calls)
      await met
      await store.close()
      const reasons = (await ends).map((end) => end.status === "rejected" && end.reason.reason)
      expect(reasons).toEqual(range(3).map(() => "DATABASE_UNAVAILABLE"))
      await release()
      expect(await nameOf(id)).toBe("locked")
    })
  })
}
