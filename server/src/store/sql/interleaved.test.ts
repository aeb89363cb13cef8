import { randomBytes } from "node:crypto"
import { setTimeout } from "node:timers/promises"
import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import {
  anyone,
  encryptionKeys,
  newAuthenticator,
  newId,
  newSession,
  newUser,
} from "@authwire/test-support/store-contract/context.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { maxKeysOfTenant } from "./api-keys.js"
import { maxBytesOfUser } from "./authenticators.js"
import type { Database } from "./database.js"
import { openSqlStore, type SqlStore, sqlStore } from "./index.js"
import { maxTenants } from "./tenants.js"

const options = { encryptionKeys, provisionalMs: 60_000, eventsKeepMs: 86_400_000 }

/** Writes of another process between two statements of one call. */
describe.each(databaseTargets())("between two statements of a call, on %s", (target) => {
  let database: TestDatabase
  let store: SqlStore
  /** The store of another process. */
  let other: SqlStore
  beforeAll(async () => {
    database = await createStoreDatabase(target)
    store = await openSqlStore({ url: database.url, ...options })
    other = await openSqlStore({ url: database.url, ...options })
  })
  afterAll(async () => {
    await store.close()
    await other.close()
    await database.drop()
  })

  /** Makes a call on a store whose database is changed, and does something else when `changed` calls `reach`. */
  async function during<T>(
    changed: (reach: () => Promise<void>) => Partial<Database>,
    call: (store: ReturnType<typeof sqlStore>) => Promise<T>,
    meanwhile: () => Promise<unknown>,
  ): Promise<T> {
    let isReached = false
    const reach = async () => {
      if (isReached) return
      isReached = true
      await meanwhile()
    }
    return call(sqlStore({ ...store.database, ...changed(reach) }, options))
  }

  test("a provisional user is replaced: getByEmail returns the user that holds the address now", async () => {
    const email = `${newId()}@example.com`
    const first = newUser({ email })
    const second = newUser({ email })
    await store.users.create(anyone, first, { provisional: true })
    let reads = 0
    const found = await during(
      (reach) => ({
        reads: (...given) => ({
          async read(statement, values) {
            // The first read finds the user by its address, the second one asks whether it is still provisional.
            if (++reads === 2) await reach()
            return store.database.reads(...given).read(statement, values)
          },
        }),
      }),
      ({ users }) => users.getByEmail(anyone, email),
      () => store.users.create(anyone, second),
    )
    expect(await store.users.get(anyone, first.id)).toBeNull()
    expect(found).toEqual(second)
  })

  test.each([
    ["returns the session that it deletes, and so says its event", false],
    ["as one of the user before does not delete it", true],
  ])("a session moves to another user: revoke %s", async (_, ofFormer) => {
    const users = [newUser(), newUser()] as const
    for (const user of users) await store.users.create(anyone, user)
    const given = newSession(users[0].id, Date.now() + 3_600_000)
    const { id } = await store.sessions.create(anyone, given)
    const { last } = await store.events.sequence(anyone)
    const revoked = await during(
      (reach) => ({
        async write(...given) {
          await reach()
          return store.database.write(...given)
        },
      }),
      ({ sessions }) => sessions.revoke(anyone, id as string, ofFormer ? users[0].id : undefined),
      () => store.sessions.update(anyone, given.sessionToken, { userId: users[1].id, extra: { role: "admin" } }),
    )
    const kinds = ["session.updated", ...(ofFormer ? [] : ["session.deleted"])]
    if (ofFormer) expect(revoked).toBeNull()
    else expect(revoked).toMatchObject({ userId: users[1].id, extra: { role: "admin" } })
    const found = await store.sessions.getWithUser(anyone, given.sessionToken)
    expect(found?.user.id).toBe(ofFormer ? users[1].id : undefined)
    await store.events.sequence(anyone)
    const events = await store.events.read(anyone, { after: last, limit: 10 })
    expect(events.map(({ kind, userId }) => [kind, userId])).toEqual(kinds.map((kind) => [kind, users[1].id]))
  })

  test("a session moves to a user that another process disables: it is not alive when the user is enabled again", async () => {
    const users = [newUser(), newUser()] as const
    for (const user of users) await store.users.create(anyone, user)
    const given = newSession(users[0].id, Date.now() + 3_600_000)
    await store.sessions.create(anyone, given)
    let disabled: Promise<unknown> = Promise.resolve()
    await during(
      (reach) => ({
        write: (caller, rows, work, ...more) =>
          store.database.write(
            caller,
            rows,
            async (sql) => {
              const { write } = sql
              // The user has been checked when the first row is written.
              sql.write = async (...of) => {
                await reach()
                return write.apply(sql, of)
              }
              return work(sql)
            },
            ...more,
          ),
      }),
      ({ sessions }) => sessions.update(anyone, given.sessionToken, { userId: users[1].id }),
      async () => {
        disabled = other.users.disable(anyone, users[1].id, {})
        // It either ends soon, or waits for the lock of this call.
        await Promise.race([disabled, setTimeout(500)])
      },
    )
    await disabled
    await store.users.enable(anyone, users[1].id)
    expect(await store.sessions.getWithUser(anyone, given.sessionToken)).toBeNull()
  })

  test.each([
    [
      "changes the user: access returns the user as it is then",
      (id: string) => other.users.update(anyone, id, { name: "new" }),
    ],
    ["disables the user: access returns null", (id: string) => other.users.disable(anyone, id, {})],
    [
      // Its sessions are deleted afterwards, so that one of them may still be extended.
      "has marked the user as disabled: access returns null",
      (id: string) =>
        store.database.withQueryRunner((runner) =>
          runner.query(`UPDATE users SET disabled = '2000-01-01 00:00:00' WHERE id = '${id}'`),
        ),
    ],
  ] as const)("another process %s", async (expected, change) => {
    const user = await store.users.create(anyone, newUser({ name: "old" }))
    const given = newSession(user.id, Date.now() + 3_600_000)
    await store.sessions.create(anyone, given)
    const accessed = await during(
      (reach) => ({
        async write(...of) {
          // The session was read, and its extension waits.
          await reach()
          return store.database.write(...of)
        },
      }),
      ({ sessions }) => sessions.access(anyone, given.sessionToken, { maxAge: 7_200_000, updateAge: 0 }),
      () => change(user.id),
    )
    if (expected.endsWith("null")) expect(accessed).toBeNull()
    else expect(accessed).toMatchObject({ extended: true, user: { name: "new" } })
  })

  /** Does something else when the first write is over. */
  const after = (reach: () => Promise<void>): Partial<Database> => ({
    async write(...given) {
      const result = await store.database.write(...given)
      await reach()
      return result
    },
  })

  test("another process raises a counter: updateCounter returns the value that it has stored itself", async () => {
    const user = await store.users.create(anyone, newUser())
    const { credentialID } = await store.authenticators.create(anyone, newAuthenticator(user.id, { counter: 1 }))
    const raised = await during(
      after,
      ({ authenticators }) => authenticators.updateCounter(anyone, credentialID, 2),
      () => other.authenticators.updateCounter(anyone, credentialID, 3),
    )
    expect(raised?.counter).toBe(2)
    expect((await store.authenticators.get(anyone, credentialID))?.counter).toBe(3)
  })

  /** Does something else when a work that writes is about to make its changes. */
  const beforeChange = (reach: () => Promise<void>): Partial<Database> => ({
    write: (caller, rows, work, ...more) =>
      store.database.write(
        caller,
        rows,
        async (sql) => {
          const { change, write } = sql
          sql.change = async (...of) => {
            await reach()
            return change.apply(sql, of)
          }
          sql.write = async (...of) => {
            await reach()
            return write.apply(sql, of)
          }
          return work(sql)
        },
        ...more,
      ),
  })

  test("another process creates an authenticator: both together stay within the bytes of a user", async () => {
    const user = await store.users.create(anyone, newUser())
    const bytes = 60_000
    const large = () => newAuthenticator(user.id, { extra: { text: "x".repeat(bytes) } })
    const most = Math.floor(maxBytesOfUser / bytes)
    for (let count = 0; count < most - 1; count++) await store.authenticators.create(anyone, large())
    let second: Promise<unknown> = Promise.resolve()
    await during(
      beforeChange,
      ({ authenticators }) => authenticators.create(anyone, large()),
      async () => {
        second = other.authenticators.create(anyone, large()).catch((error: unknown) => error)
        // It either ends soon, or waits for the lock of this call.
        await Promise.race([second, setTimeout(500)])
      },
    )
    expect(await second).toMatchObject({ reason: "INVALID_FIELD" })
    expect(await store.authenticators.listByUserId(anyone, user.id)).toHaveLength(most)
  })

  const newKey = () => ({
    ...{ id: randomBytes(8).toString("hex"), name: "k", tenant: anyone.tenant, scopes: ["all"] },
    ...{ secretHash: randomBytes(32), created: new Date() },
  })

  test("another process creates an API key: both together stay within the number of a tenant", async () => {
    const { apiKeys } = store.database.tables
    await store.database.write({}, [], async (sql) => {
      for (let count = 0; count < maxKeysOfTenant - 1; count++) await sql.write(apiKeys.insert, newKey())
    })
    let second: Promise<unknown> = Promise.resolve()
    await during(
      beforeChange,
      (one) => one.apiKeys.create({}, newKey(), { isLimited: true }),
      async () => {
        second = other.apiKeys.create({}, newKey(), { isLimited: true }).catch((error: unknown) => error)
        await Promise.race([second, setTimeout(500)])
      },
    )
    expect(await second).toMatchObject({ reason: "INVALID_FIELD" })
    expect(await store.apiKeys.list({})).toHaveLength(maxKeysOfTenant)
  })

  test("another process creates a tenant: both together stay within their number", async () => {
    const { apiKeys, tenants } = store.database.tables
    const created = new Date()
    const create = ({ tenants }: Pick<SqlStore, "tenants">, name: string) =>
      tenants.createWithKey(anyone, { name, created }, newKey()).catch((error: unknown) => error)
    expect(await create(store, "first")).toHaveProperty("key")
    const missing = maxTenants - 1 - (await store.tenants.list({})).length
    await store.database.write({}, [], async (sql) => {
      for (let count = 0; count < missing; count++) await sql.write(tenants.insert, { name: newId(), created })
    })
    let second: Promise<unknown> = Promise.resolve()
    const first = await during(
      (reach) => ({
        write: (caller, rows, work, ...more) =>
          store.database.write(
            caller,
            rows,
            (sql) => {
              const { write } = sql
              sql.write = async (statement, ...values) => {
                // The tenants have been counted.
                if (statement === apiKeys.insert) await reach()
                return write.call(sql, statement, ...values)
              }
              return work(sql)
            },
            ...more,
          ),
      }),
      (one) => create(one, "second"),
      async () => {
        second = create(other, "third")
        await Promise.race([second, setTimeout(500)])
      },
    )
    expect(first).toHaveProperty("key")
    expect(await second).toMatchObject({ reason: "INVALID_FIELD" })
    expect(await store.tenants.list({})).toHaveLength(maxTenants)
  })

  test("another process creates an authenticator: an event of updateCounter names the user if there is one", async () => {
    const user = await store.users.create(anyone, newUser())
    const authenticator = newAuthenticator(user.id)
    const { last } = await store.events.sequence(anyone)
    const raised = await during(
      after,
      ({ authenticators }) => authenticators.updateCounter(anyone, authenticator.credentialID, 2),
      () => other.authenticators.create(anyone, authenticator),
    )
    await store.events.sequence(anyone)
    const events = await store.events.read(anyone, { after: last, limit: 10 })
    const kinds = ["authenticator.created", ...(raised === null ? [] : ["authenticator.updated"])]
    expect(events.map(({ kind, userId }) => [kind, userId])).toEqual(kinds.map((kind) => [kind, user.id]))
  })
})
