import { clusters, createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import {
  anyone,
  encryptionKeys,
  newAccount,
  newAuthenticator,
  newId,
  newSession,
  newUser,
  outcomes,
  range,
} from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Store } from "../store.js"
import { applyMigrations, migrationStatus, openSqlStore, type SqlStore } from "./index.js"

// One store on each member of a cluster in which every member accepts writes. Of concurrent conflicting writes the
// cluster certifies one at its commit and rejects the others. A write on one member is visible on the others at once.
const describeClusters = clusters().length > 0 ? describe.each(clusters()) : describe.skip.each(["a cluster"])

describeClusters("$name", (cluster) => {
  if (typeof cluster === "string") return
  const { url, engine, conflict } = cluster
  let database: TestDatabase
  let stores: SqlStore[]
  const retried = new Set<string | undefined>()

  /** The store for the n-th of many concurrent calls. */
  const storeFor = (n: number): Store => stores[n % stores.length] as Store
  const count = async (sql: string, ...parameters: string[]) => (await database.query(sql, parameters))[0]?.n

  beforeAll(async () => {
    database = await createDatabase(engine, url)
    const onRetry = ({ code }: { code: string | undefined }) => void retried.add(code)
    /** The other members get the database a moment later. */
    const open = async (url: string) => {
      let store: SqlStore | undefined
      await until(async () => {
        store = await openSqlStore({ encryptionKeys, url, onRetry }).catch(() => undefined)
        return store !== undefined
      })
      return store as SqlStore
    }
    stores = await Promise.all(range(3).map((member) => open(database.urlOn(member))))
  })
  afterAll(async () => {
    for (const store of stores ?? []) await store.close()
    await database?.drop()
  })

  test("of concurrent migrators on all members one applies each migration, and the others wait", async () => {
    const names = (await migrationStatus((stores[0] as SqlStore).database)).map(({ name }) => name)
    const applied = await Promise.all(stores.map((store) => applyMigrations(store.database)))
    expect(applied.flat().sort()).toEqual(names)
    for (const store of stores) {
      expect((await migrationStatus(store.database)).every(({ applied }) => applied)).toBe(true)
    }
  })

  test("a lock whose holder has ended is taken over by another process", async () => {
    await database.query("INSERT INTO authwire_schema_lock (id, holder, beat) VALUES (1, 'ended', 7)")
    expect(await applyMigrations((stores[1] as SqlStore).database)).toEqual([])
    expect(await count("SELECT COUNT(*) AS n FROM authwire_schema_lock")).toBe(0)
  })

  test("a write that one member has acknowledged is visible on the next one, also to foreign keys", async () => {
    // Concurrent writers make the members lag behind each other.
    const signIns = range(20).map(async (caller) => {
      for (const n of range(20)) {
        const { id } = await storeFor(caller + n).users.create(anyone, newUser())
        const session = newSession(id, Date.now() + 60_000)
        await storeFor(caller + n + 1).sessions.create(anyone, session)
        const found = await storeFor(caller + n + 2).sessions.getWithUser(anyone, session.sessionToken)
        expect(found?.user.id).toBe(id)
      }
    })
    await Promise.all(signIns)
  })

  test("exactly one of 30 concurrent calls gets a verification token", async () => {
    for (const _ of range(10)) {
      const token = { identifier: newId(), token: newId(), expires: new Date("2030-01-01T00:00:00.001Z") }
      await storeFor(0).verificationTokens.create(anyone, token)
      const answers = await Promise.all(range(30).map((n) => storeFor(n).verificationTokens.use(anyone, token)))
      expect(answers.filter((answer) => answer !== null)).toEqual([token])
    }
    expect(await count("SELECT COUNT(*) AS n FROM verification_tokens")).toBe(0)
  })

  test("one of several concurrent calls gets an address or an account", async () => {
    const email = `${newId()}@example.com`
    const creations = range(12).map((n) => storeFor(n).users.create(anyone, newUser({ email })))
    expect(await outcomes(creations)).toEqual({ ok: 1, EMAIL_ALREADY_EXISTS: 11 })
    const users = await Promise.all(range(12).map((n) => storeFor(n).users.create(anyone, newUser())))
    const account = newAccount("")
    const links = users.map(({ id }, n) => storeFor(n).accounts.link(anyone, { ...account, userId: id }))
    expect(await outcomes(links)).toEqual({ ok: 1, ACCOUNT_LINKED_TO_ANOTHER_USER: 11 })
  })

  test("a deleted user leaves no rows behind, whatever the other members create", async () => {
    for (const _ of range(10)) {
      const { id } = await storeFor(0).users.create(anyone, newUser())
      const calls = range(9).flatMap((n) => [
        storeFor(n).sessions.create(anyone, newSession(id, Date.now())),
        storeFor(n).accounts.link(anyone, newAccount(id)),
        storeFor(n).authenticators.create(anyone, newAuthenticator(id)),
      ])
      const [counts, deleted] = await Promise.all([outcomes(calls), storeFor(0).users.delete(anyone, id)])
      expect(deleted).toMatchObject({ id })
      expect(Object.keys(counts).filter((outcome) => !["ok", "USER_NOT_FOUND"].includes(outcome))).toEqual([])
      for (const table of ["sessions", "accounts", "authenticators"]) {
        expect(await count(`SELECT COUNT(*) AS n FROM ${table} WHERE user_id = ?`, id)).toBe(0)
      }
    }
  })

  describe("what is counted among the rows of others has its limit, whatever the other members create", () => {
    const rounds = 10
    const created = new Date()
    const newTenant = async () => {
      const { name } = await storeFor(0).tenants.create({}, { name: newId(), created })
      return { tenant: name }
    }

    test("S-55: a user has no more sessions than the policy allows", async () => {
      for (const atLimit of ["reject_new", "end_oldest"] as const) {
        const caller = await newTenant()
        await storeFor(0).sessionPolicies.update(caller, { maxSessions: 3, atLimit })
        for (const _ of range(rounds)) {
          const { id } = await storeFor(0).users.create(caller, newUser())
          const signIns = range(12).map((n) => storeFor(n).sessions.create(caller, newSession(id, Date.now() + 60_000)))
          const { ok } = await outcomes(signIns)
          expect(ok).toBe(atLimit === "reject_new" ? 3 : 12)
          expect(await count("SELECT COUNT(*) AS n FROM sessions WHERE user_id = ?", id)).toBe(3)
        }
      }
    })

    test("a tenant has at most 20 webhooks, and 1000 keys", async () => {
      for (const _ of range(3)) {
        const caller = await newTenant()
        const webhook = () => ({
          id: newId().replaceAll("-", ""),
          name: "w",
          url: "https://a.example",
          kinds: [],
          created,
        })
        const webhooks = range(30).map((n) =>
          storeFor(n).webhooks.create(caller, { ...webhook(), includeUser: false }, "whsec_a"),
        )
        expect(await outcomes(webhooks)).toEqual({ ok: 20, INVALID_FIELD: 10 })
        const row = "(?, 'k', ?, '[]', NOW())"
        await database.query(
          `INSERT INTO api_keys (id, name, tenant, scopes, created) VALUES ${range(997).map(() => row)}`,
          range(997).flatMap(() => [newId().replaceAll("-", ""), caller.tenant]),
        )
        const key = () => ({
          id: newId().replaceAll("-", ""),
          name: "k",
          scopes: [],
          expires: undefined,
          created,
          ...caller,
        })
        const keys = range(9).map((n) =>
          storeFor(n).apiKeys.create({}, { ...key(), secretHash: Buffer.alloc(32) }, { isLimited: true }),
        )
        expect(await outcomes(keys)).toEqual({ ok: 3, INVALID_FIELD: 6 })
      }
    })

    test("the authenticators of a user have a size at most", async () => {
      const extra = { a: "a".repeat(50_000) }
      for (const _ of range(rounds)) {
        const { id } = await storeFor(0).users.create(anyone, newUser())
        const calls = range(26).map((n) => storeFor(n).authenticators.create(anyone, newAuthenticator(id, { extra })))
        expect(await outcomes(calls)).toEqual({ ok: 20, INVALID_FIELD: 6 })
      }
    })
  })

  test("S-54: a user who is disabled has no session, whatever the other members create or move", async () => {
    for (const _ of range(20)) {
      const [other, user] = [newUser(), newUser()]
      for (const one of [other, user]) await storeFor(0).users.create(anyone, one)
      const sessions = range(6).map(() => newSession(other.id, Date.now() + 60_000))
      for (const session of sessions) await storeFor(0).sessions.create(anyone, session)
      const calls = range(9).map((n) => storeFor(n).sessions.create(anyone, newSession(user.id, Date.now() + 60_000)))
      const moves = sessions.map((session, n) =>
        storeFor(n).sessions.update(anyone, session.sessionToken, { userId: user.id }),
      )
      const disabled = storeFor(0).users.disable(anyone, user.id, {})
      await Promise.all([outcomes([...calls, ...moves]), disabled])
      expect(await count("SELECT COUNT(*) AS n FROM sessions WHERE user_id = ?", user.id)).toBe(0)
    }
  })

  test("no update is lost, and the highest counter stays", async () => {
    const { id } = await storeFor(0).users.create(anyone, newUser())
    const { credentialID } = await storeFor(0).authenticators.create(anyone, newAuthenticator(id))
    const updates = range(18).map((n) => storeFor(n).users.update(anyone, id, { extra: { [`k${n}`]: n } }))
    expect(await outcomes(updates)).toEqual({ ok: 18 })
    const values = range(18).map((n) => ((n * 7) % 18) + 1)
    await outcomes(values.map((value, n) => storeFor(n).authenticators.updateCounter(anyone, credentialID, value)))
    const expected = Object.fromEntries(range(18).map((n) => [`k${n}`, n]))
    for (const store of stores) {
      expect((await store.users.get(anyone, id))?.extra).toEqual(expected)
      expect((await store.authenticators.get(anyone, credentialID))?.counter).toBe(18)
    }
  })

  test("the group rejected writes, and retries completed them", () => {
    expect([...retried]).toContain(conflict)
  })

  test("a member that loses its quorum becomes unavailable, and another one is used", async () => {
    const [alone] = stores as [SqlStore]
    const hosts = range(3).map((member) => new URL(database.urlOn(member)).host)
    const { username, pathname } = new URL(database.url)
    const members: (string | undefined)[] = []
    const all = await openSqlStore({
      encryptionKeys,
      url: `mysql://${username}@${hosts.join(",")}${pathname}`,
      onMember: ({ member }) => members.push(member),
    })
    try {
      await database.query(cluster.leave)
      const unavailable = { reason: "DATABASE_UNAVAILABLE" }
      await until(() =>
        alone.ping({}).then(
          () => false,
          () => true,
        ),
      )
      await expect(alone.users.create(anyone, newUser())).rejects.toMatchObject(unavailable)
      if (engine === "mariadb") await expect(alone.users.get(anyone, newId())).rejects.toMatchObject(unavailable)
      const created = await all.users.create(anyone, newUser())
      expect(await all.users.get(anyone, created.id)).toEqual(created)
      expect(await storeFor(2).users.get(anyone, created.id)).toEqual(created)
      expect(members).toEqual([hosts[0], undefined, hosts[1]])
    } finally {
      await all.close()
      await database.query(cluster.join)
    }
    await until(() =>
      alone.ping({}).then(
        () => true,
        () => false,
      ),
    )
  })
})
