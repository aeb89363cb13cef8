import { describe, expect, test } from "@jest/globals"
import { StoreError } from "../../../server/src/errors/store-error.js"
import type { Transaction } from "../../../server/src/store/store.js"
import {
  anyone,
  type ContractContext,
  createTenant,
  day,
  newAccount,
  newId,
  newSession,
  newUser,
  outcomes,
  range,
} from "./context.js"
import { type Call, create, newToken, once, repeatableWrites, type Write } from "./repeatable-writes.js"

/** Declares the tests of writes with idempotency keys. */
export function idempotencyContract(context: ContractContext): void {
  const expires = () => context.clock.now + day

  const keysKept = async (): Promise<number> => {
    const [row] = await context.database.sql("SELECT COUNT(*) AS n FROM idempotency_keys")
    return Number(row?.n)
  }
  const usersNamed = async (name: string): Promise<number> => {
    const [row] = await context.database.sql("SELECT COUNT(*) AS n FROM users WHERE name = ?", [name])
    return Number(row?.n)
  }

  const writes = repeatableWrites(context)

  describe("once", () => {
    describe("a repeated call gets the first answer, from another process too", () => {
      test.each(Object.entries(writes))("%s", async (_, prepare) => {
        const write = await prepare()
        const key = newId()
        const first = await once(context.store, { key }, write)
        expect(first).not.toBeNull()
        expect(await once(context.store, { key }, write)).toEqual(first)
        expect(await once(context.other, { key }, write)).toEqual(first)
      })
    })

    test("one of 50 equal calls on two stores is done, and all get its answer", async () => {
      for (const _ of range(3)) {
        const [name, key] = [newId(), newId()]
        const calls = range(50).map((n) =>
          once(n % 2 ? context.store : context.other, { key }, (store, caller) =>
            // Each has another user id, so only the key shows that the calls are equal.
            store.users.create(caller, newUser({ name })),
          ),
        )
        const answers = await Promise.all(calls)
        expect(await usersNamed(name)).toBe(1)
        expect(new Set(answers.map((answer) => (answer as { id: string }).id)).size).toBe(1)
      }
    })

    test("of 50 calls with a key and as many without, exactly one key gets the verification token", async () => {
      const token = await context.store.verificationTokens.create(anyone, newToken(expires()))
      const use: Write = async (store, caller) => {
        const used = await store.verificationTokens.use(caller, token)
        if (used === null) throw new StoreError("USER_NOT_FOUND", "no token")
        return used
      }
      const keys = [newId(), newId()]
      const all = range(50).map((n) => {
        const store = n % 2 ? context.store : context.other
        const key = keys[n < 25 ? 0 : 1] as string
        return once(store, { key }, use).then(
          () => key,
          () => undefined,
        )
      })
      const bare = range(50).map((n) => (n % 2 ? context.store : context.other).verificationTokens.use(anyone, token))
      const [withKey, without] = await Promise.all([Promise.all(all), Promise.all(bare)])
      const winners = new Set(withKey.filter((key) => key !== undefined))
      expect(winners.size + without.filter((used) => used !== null).length).toBe(1)
      // All calls with the winning key get it.
      for (const key of winners) expect(withKey.filter((one) => one === key)).toHaveLength(25)
    })

    test("of two calls that have both written, one is rolled back, and both get the other's answer", async () => {
      const [name, key] = [newId(), newId()]
      const begun = Promise.withResolvers<void>()
      const goOn = Promise.withResolvers<void>()
      const first = once(context.store, { key }, async (store, caller) => {
        const user = await store.users.create(caller, newUser({ name }))
        begun.resolve()
        await goOn.promise
        return user
      })
      await begun.promise
      const second = once(context.other, { key }, (store, caller) => {
        goOn.resolve()
        return store.users.create(caller, newUser({ name }))
      })
      expect(await second).toEqual(await first)
      expect(await usersNamed(name)).toBe(1)
    })

    describe("IDEMPOTENCY_KEY_REUSED: the same key with another request; nothing is written", () => {
      test.each<[string, Write]>([
        ["that would succeed", create],
        ["that would fail", (store, caller) => store.sessions.create(caller, newSession(newId(), expires()))],
        ["that finds nothing to do", (store, caller) => store.users.delete(caller, newId())],
      ])("%s", async (_, write) => {
        const [key, name] = [newId(), newId()]
        await once(context.store, { key }, create)
        const other = once(context.other, { key, request: "another" }, async (store, caller) => {
          const answer = await write(store, caller)
          if (answer === null) throw new StoreError("USER_NOT_FOUND", "no such user")
          return answer
        })
        await expect(other).rejects.toMatchObject({ reason: "IDEMPOTENCY_KEY_REUSED" })
        const named = once(context.other, { key, request: "another" }, (store, caller) =>
          store.users.create(caller, newUser({ name })),
        )
        await expect(named).rejects.toMatchObject({ reason: "IDEMPOTENCY_KEY_REUSED" })
        expect(await usersNamed(name)).toBe(0)
      })

      test("for one of two concurrent requests", async () => {
        const [key, name] = [newId(), newId()]
        const counts = await outcomes(
          range(30).map((n) =>
            once(n % 2 ? context.store : context.other, { key, request: `${n % 3}` }, (store, caller) =>
              store.users.create(caller, newUser({ name })),
            ),
          ),
        )
        expect(counts).toEqual({ ok: 10, IDEMPOTENCY_KEY_REUSED: 20 })
        expect(await usersNamed(name)).toBe(1)
      })
    })

    test("the same key of another owner or tenant is a different key", async () => {
      const [key, name] = [newId(), newId()]
      const calls: Call[] = [
        {},
        { owner: "another" },
        { owner: "" },
        { owner: "own", key: `er${key}` },
        { caller: await createTenant(context) },
      ]
      const write: Write = (store, caller) => store.users.create(caller, newUser({ name }))
      const ids = new Set<unknown>()
      for (const call of calls) ids.add(((await once(context.store, { key, ...call }, write)) as { id: string }).id)
      expect(ids.size).toBe(calls.length)
      expect(await usersNamed(name)).toBe(calls.length)
    })

    test("work that throws writes nothing and leaves the key free", async () => {
      const [key, name] = [newId(), newId()]
      const kept = await keysKept()
      const fault = new Error("of the work")
      const failing = once(context.store, { key }, async (store, caller) => {
        await store.users.create(caller, newUser({ name }))
        throw fault
      })
      await expect(failing).rejects.toBe(fault)
      expect([await usersNamed(name), await keysKept()]).toEqual([0, kept])
      await once(context.other, { key, request: "another" }, (store, caller) =>
        store.users.create(caller, newUser({ name })),
      )
      expect([await usersNamed(name), await keysKept()]).toEqual([1, kept + 1])
    })

    test.each<[string, () => Promise<[string, Write]>]>([
      [
        "a duplicate",
        async () => {
          const user = await context.store.users.create(anyone, newUser())
          return ["USER_ALREADY_EXISTS", (store, caller) => store.users.create(caller, user)]
        },
      ],
      [
        "a missing user",
        async () => ["USER_NOT_FOUND", (store, caller) => store.accounts.link(caller, newAccount(newId()))],
      ],
    ])("an error is not kept: %s", async (_, prepare) => {
      const [reason, write] = await prepare()
      const [key, kept] = [newId(), await keysKept()]
      for (const store of [context.store, context.other]) {
        await expect(once(store, { key }, write)).rejects.toMatchObject({ reason })
      }
      expect(await keysKept()).toBe(kept)
      await once(context.store, { key }, create)
    })

    test("an aborted call writes nothing, and neither does its work afterwards", async () => {
      const [key, name] = [newId(), newId()]
      const leaving = new AbortController()
      const gone = new Error("the caller is gone")
      const after = Promise.withResolvers<unknown>()
      const caller = { ...anyone, signal: leaving.signal }
      const call = once(context.store, { key, caller }, (store, within) => {
        const work = async () => {
          await store.users.create(within, newUser({ name }))
          leaving.abort(gone)
          // Continues like a handler whose call has ended.
          await Promise.resolve()
          return store.users.create({ ...within, signal: undefined }, newUser({ name }))
        }
        work().then(after.resolve, after.reject)
        after.promise.catch(() => {})
        return new Promise((_, reject) => {
          leaving.signal.addEventListener("abort", () => reject(gone))
        })
      })
      await expect(call).rejects.toBe(gone)
      await expect(after.promise).rejects.toThrow()
      expect(await usersNamed(name)).toBe(0)
      await once(context.store, { key }, (store, within) => store.users.create(within, newUser({ name })))
      expect(await usersNamed(name)).toBe(1)
    })

    test("S-12: the database has the time, but not the key, the request or the answer", async () => {
      const [key, name, request] = [`key-${newId()}`, `name-${newId()}`, `digest-${newId()}`]
      await once(context.store, { key, request, owner: "an-owner" }, (store, caller) =>
        store.users.create(caller, newUser({ name })),
      )
      const [row] = await context.database.sql(
        "SELECT * FROM idempotency_keys WHERE tenant = 'default' ORDER BY created DESC, answer LIMIT 1",
      )
      expect(row).toMatchObject({ tenant: "default", created: context.clock.now })
      const rows = JSON.stringify(await context.database.sql("SELECT * FROM idempotency_keys"))
      for (const secret of [key, name, request, "an-owner"]) {
        expect(rows).not.toContain(secret)
        expect(rows).not.toContain(Buffer.from(secret).toString("base64url").slice(0, -2))
        expect(rows).not.toContain(Buffer.from(secret).toString("hex"))
      }
      const answers = await context.database.sql("SELECT answer FROM idempotency_keys")
      for (const { answer } of answers) expect(answer).toMatch(/^sealed\.1\./)
    })

    test("a very large answer is returned byte for byte", async () => {
      const [key, bytes] = [newId(), Buffer.alloc(2_000_000, 0xfe)]
      const work = async (transaction: Transaction) => {
        await context.store.users.create({ ...anyone, transaction }, newUser())
        return bytes
      }
      const request = { owner: "", key, digest: () => "" }
      await context.store.once(anyone, request, work)
      expect(bytes.equals(await context.other.once(anyone, request, work))).toBe(true)
    })

    test("concurrent calls with different keys are done once each", async () => {
      const name = newId()
      const before = await keysKept()
      const calls = range(200).map((n) =>
        once(n % 2 ? context.store : context.other, {}, (store, caller) =>
          store.users.create(caller, newUser({ name })),
        ),
      )
      expect(await outcomes(calls)).toEqual({ ok: 200 })
      expect([await usersNamed(name), (await keysKept()) - before]).toEqual([200, 200])
    })
  })
}
