import { createAuthwireClient } from "@authwire/client"
import { describeServer, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { lockTable } from "@authwire/test-support/databases/server-sql.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { startAuthwire, useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"

const expires = new Date("2099-12-31T00:00:00Z")
const range = (count: number) => Array.from({ length: count }, (_, n) => n)

// A replica that stops in the middle of a transaction holds its locks until the database notices. Writers of the same
// rows must wait for that, but no other calls may. Without the protection, other calls waited for more than ten
// seconds. The limit lies between that time and the delay of a slow machine.
const soonMs = 6_000
/** No statement ends by itself, however long the lock is held. */
const patient = "--database-statement-timeout-ms=30000"

describeServer("rows that another transaction has locked", (target) => {
  const authwire = useAuthwire(target, { args: [patient] })
  const later = endsAfterEach()

  /** Connects a client to the service that uses a server, and creates other users. */
  async function open(listener: "grpc" | "http") {
    const { database } = authwire
    const client = createAuthwireClient({ url: authwire.server[`${listener}Url`], timeoutMs: 30_000 })
    later(async () => client.close())
    const user = async () => {
      const { id } = await client.adapter.createUser({ id: crypto.randomUUID(), email: "", emailVerified: null })
      return id
    }
    const others = await Promise.all(range(20).map(user))
    return {
      client,
      user,

      /** Runs `work` while another transaction has locked the users. */
      async whileLocked(ids: readonly string[], work: () => Promise<void>) {
        await database.query("BEGIN")
        try {
          for (const id of ids)
            await database.query("SELECT id FROM users WHERE tenant = 'default' AND id = ? FOR UPDATE", [id])
          await work()
        } finally {
          await database.query("ROLLBACK")
        }
      },

      /**
       * Makes calls for the other users one after another for two seconds. Returns the longest duration, in
       * milliseconds.
       */
      async longestOf(call: (id: string) => Promise<unknown>) {
        let longest = 0
        const end = performance.now() + 2000
        for (let n = 0; performance.now() < end; n++) {
          const start = performance.now()
          await call(others[n % others.length] as string)
          longest = Math.max(longest, performance.now() - start)
        }
        return longest
      },
    }
  }

  describe.each(["grpc", "http"] as const)("through the %s listener", (listener) => {
    test("S-51: 40 writers of one row do not delay other calls, and none is rejected", async () => {
      const { client, user, whileLocked, longestOf } = await open(listener)
      const id = await user()
      const account = { provider: "p", type: "oauth" as const, userId: id }
      const writes = range(40).map((n) => [
        () => client.adapter.updateUser({ id, name: String(n) }),
        () => client.adapter.createSession({ sessionToken: crypto.randomUUID(), userId: id, expires }),
        () => client.adapter.linkAccount({ ...account, providerAccountId: crypto.randomUUID() }),
      ])
      let writing: Promise<unknown>[] = []
      await whileLocked([id], async () => {
        writing = writes.map((kinds, n) => (kinds[n % kinds.length] as (typeof kinds)[0])())
        for (const call of writing) call.catch(() => {})
        const [read, written] = await Promise.all([
          longestOf((other) => client.adapter.getUser(other)),
          longestOf((other) => client.adapter.updateUser({ id: other, name: "x" })),
        ])
        expect(read).toBeLessThan(soonMs)
        expect(written).toBeLessThan(soonMs)
      })
      expect(await Promise.all(writing)).toHaveLength(40)
      expect(await authwire.rows("SELECT COUNT(*) AS n FROM sessions WHERE user_id = ?", [id])).toEqual([{ n: 13 }])
    })
  })
})

describeServer("a lock for which more calls of a tenant wait than may be active", (target) => {
  const [waiting, other] = [staticKey(["all"], { tenant: "waiting" }), staticKey(["all"], { tenant: "other" })]
  const authwire = useAuthwire(target, { keys: [waiting, other], args: ["--max-active-calls=10", patient] })
  const later = endsAfterEach()

  test.each(["row", "table"])(
    "S-22: of a %s: its reads, and reads and writes of another tenant, go on",
    async (kind) => {
      const { database, server } = authwire
      const connect = async ({ text }: typeof waiting) => {
        const client = createAuthwireClient({ url: server.grpcUrl, apiKey: text, timeoutMs: 30_000 })
        later(async () => client.close())
        const { id } = await client.adapter.createUser({ id: crypto.randomUUID(), email: "", emailVerified: null })
        return { ...client, id }
      }
      const [one, another] = [await connect(waiting), await connect(other)]
      const verification = () => ({ identifier: "i", token: crypto.randomUUID(), expires })
      const lockRow = async () => {
        await database.query("BEGIN")
        await database.query("SELECT id FROM users WHERE tenant = 'waiting' AND id = ? FOR UPDATE", [one.id])
        return () => database.query("ROLLBACK")
      }
      const unlock = await (kind === "row" ? lockRow() : lockTable(database, "verification_tokens"))
      let rejected = 0
      const writing = range(20).map(async (n) => {
        try {
          if (kind === "row") await one.users.updateUser({ id: one.id, name: `${n}`, updateMask: { paths: ["name"] } })
          else await one.adapter.createVerificationToken?.(verification())
        } catch {
          rejected++
        }
      })
      // As many wait as the tenant may have active.
      await until(() => rejected > 0)
      for (const n of range(20)) {
        expect(await one.adapter.getUser(one.id)).toMatchObject({ id: one.id })
        expect(await another.adapter.getUser(another.id)).toMatchObject({ id: another.id })
        await another.adapter.updateUser({ id: another.id, name: `${n}` })
        await another.adapter.createSession({ sessionToken: crypto.randomUUID(), userId: another.id, expires })
        if (kind === "row") await another.adapter.createVerificationToken?.(verification())
      }
      await unlock()
      await Promise.all(writing)
      expect(rejected).toBeLessThan(20)
    },
  )
})

if (serviceDatabase() === "sqlite") {
  test("on SQLite, where one writer locks the whole database, readers do not wait for writers", async () => {
    const authwire = await startAuthwire("sqlite")
    const { adapter } = authwire
    const { id } = await adapter.createUser({ id: crypto.randomUUID(), email: "", emailVerified: null })
    await authwire.database.query("BEGIN IMMEDIATE")
    const writing = range(40).map((n) => adapter.updateUser({ id, name: String(n) }))
    for (const call of writing) call.catch(() => {})
    for (const _ of range(200)) {
      const start = performance.now()
      await adapter.getUser(id)
      expect(performance.now() - start).toBeLessThan(soonMs)
    }
    await authwire.database.query("COMMIT")
    expect(await Promise.all(writing)).toHaveLength(40)
    await authwire.close()
  })
}
