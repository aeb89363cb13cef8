import { setTimeout as delay } from "node:timers/promises"
import { clusterUrls, createDatabase, type TestDatabase } from "@authwire/test-support/databases.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
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
} from "../conformance/context.js"
import type { Store } from "../store.js"
import { applyMigrations, openSqlStore, type SqlStore } from "./index.js"

const urls = clusterUrls()

// A store on each member of a replication group in which every member is a primary: what they write at the same time,
// the group certifies when it is committed, and rejects all but one.
const describeCluster = urls.length > 0 ? describe : describe.skip

describeCluster("a replication group with several primaries (AUTHWIRE_TEST_CLUSTER_URLS)", () => {
  let database: TestDatabase
  let stores: SqlStore[]
  const retried = new Set<string | undefined>()

  /** The store that the n-th of many concurrent calls uses. */
  const storeFor = (n: number): Store => stores[n % stores.length] as Store
  /** What one member has written, the others have after a while; nothing that all of them could be asked says when. */
  const spread = () => delay(300)
  const count = async (sql: string, ...parameters: string[]) => (await database.query(sql, parameters))[0]?.n

  beforeAll(async () => {
    database = await createDatabase("mysql", urls[0])
    const { pathname } = new URL(database.url)
    const onRetry = ({ code }: { code: string | undefined }) => void retried.add(code)
    const first = await openSqlStore({ encryptionKeys, url: database.url, onRetry })
    await applyMigrations(first.database)
    await delay(2000)
    const others = urls
      .slice(1)
      .map((url) => openSqlStore({ encryptionKeys, url: Object.assign(new URL(url), { pathname }).href, onRetry }))
    stores = [first, ...(await Promise.all(others))]
  })
  afterAll(async () => {
    for (const store of stores ?? []) await store.close()
    await database?.drop()
  })

  test("exactly one of 30 concurrent calls gets a verification token", async () => {
    for (const _ of range(10)) {
      const token = { identifier: newId(), token: newId(), expires: new Date("2030-01-01T00:00:00.001Z") }
      await storeFor(0).verificationTokens.create(anyone, token)
      await spread()
      const answers = await Promise.all(range(30).map((n) => storeFor(n).verificationTokens.use(anyone, token)))
      expect(answers.filter((answer) => answer !== null)).toEqual([token])
    }
    expect(await count("SELECT COUNT(*) AS n FROM verification_tokens")).toBe(0)
  })

  test("of those who want the same address, or the same account, one gets it", async () => {
    const email = `${newId()}@example.com`
    const creations = range(12).map((n) => storeFor(n).users.create(anyone, newUser({ email })))
    expect(await outcomes(creations)).toEqual({ ok: 1, EMAIL_ALREADY_EXISTS: 11 })
    const users = await Promise.all(range(12).map((n) => storeFor(n).users.create(anyone, newUser())))
    await spread()
    const account = newAccount("")
    const links = users.map(({ id }, n) => storeFor(n).accounts.link(anyone, { ...account, userId: id }))
    expect(await outcomes(links)).toEqual({ ok: 1, ACCOUNT_LINKED_TO_ANOTHER_USER: 11 })
  })

  test("a user that is deleted leaves nothing behind, whatever the other members create", async () => {
    for (const _ of range(10)) {
      const { id } = await storeFor(0).users.create(anyone, newUser())
      await spread()
      const calls = range(9).flatMap((n) => [
        storeFor(n).sessions.create(anyone, newSession(id, Date.now())),
        storeFor(n).accounts.link(anyone, newAccount(id)),
        storeFor(n).authenticators.create(anyone, newAuthenticator(id)),
      ])
      const [counts, deleted] = await Promise.all([outcomes(calls), storeFor(0).users.delete(anyone, id)])
      expect(deleted).toMatchObject({ id })
      expect(Object.keys(counts).filter((outcome) => !["ok", "USER_NOT_FOUND"].includes(outcome))).toEqual([])
      await spread()
      for (const table of ["sessions", "accounts", "authenticators"]) {
        expect(await count(`SELECT COUNT(*) AS n FROM ${table} WHERE user_id = ?`, id)).toBe(0)
      }
    }
  })

  test("no update is lost, and the highest counter stays", async () => {
    const { id } = await storeFor(0).users.create(anyone, newUser())
    const { credentialID } = await storeFor(0).authenticators.create(anyone, newAuthenticator(id))
    await spread()
    const updates = range(18).map((n) => storeFor(n).users.update(anyone, id, { extra: { [`k${n}`]: n } }))
    expect(await outcomes(updates)).toEqual({ ok: 18 })
    const values = range(18).map((n) => ((n * 7) % 18) + 1)
    await outcomes(values.map((value, n) => storeFor(n).authenticators.updateCounter(anyone, credentialID, value)))
    await spread()
    const expected = Object.fromEntries(range(18).map((n) => [`k${n}`, n]))
    for (const store of stores) {
      expect((await store.users.get(anyone, id))?.extra).toEqual(expected)
      expect((await store.authenticators.get(anyone, credentialID))?.counter).toBe(18)
    }
  })

  test("writes were rejected by the group, and done by trying again", () => {
    expect([...retried]).toContain("ER_TRANSACTION_ROLLBACK_DURING_COMMIT")
  })
})
