import { commitText } from "@authwire/test-support/databases/commit-text.js"
import {
  clusters,
  createDatabase,
  databaseTargets,
  type TcpProxy,
  type TestDatabase,
  tcpProxy,
} from "@authwire/test-support/databases/databases.js"
import { anyone, encryptionKeys, newId, newSession, newUser } from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import type { Transaction } from "../../store.js"
import { applyMigrations, openSqlStore, type SqlStore } from "../index.js"

// A cluster, or a server with two addresses, each behind a proxy. A proxy forwards a COMMIT, keeps the answer back, and cuts the
// connection when the database has committed. Another member could do the work again, but only what may be done twice must be.
interface Place {
  readonly name: string
  readonly engine: "mysql" | "mariadb"
  readonly url?: string
}
const places: Place[] = [
  ...databaseTargets().flatMap((engine) =>
    engine === "mysql" || engine === "mariadb" ? [{ name: engine, engine }] : [],
  ),
  ...clusters(),
]
const describePlaces =
  places.length > 0 ? describe.each(places) : describe.skip.each<Place>([{ name: "a server", engine: "mysql" }])

describePlaces("after a COMMIT without an answer on $name", ({ engine, url }) => {
  let database: TestDatabase
  let proxies: TcpProxy[]
  let store: SqlStore
  const unavailable = { reason: "DATABASE_UNAVAILABLE" }
  const count = async (sql: string, ...parameters: unknown[]) =>
    Number((await database.query(`SELECT COUNT(*) AS n FROM ${sql}`, parameters))[0]?.n)

  beforeAll(async () => {
    database = await createDatabase(engine, url)
    const members = [...new Set([0, 1, 2].map((member) => database.urlOn(member)))]
    // A server that is no cluster gets two addresses.
    const urls = members.length > 1 ? members : [database.url, database.url]
    proxies = await Promise.all(urls.map((url) => tcpProxy(Number(new URL(url).port || 3306), new URL(url).hostname)))
    const { username, pathname } = new URL(database.url)
    const hosts = proxies.map(({ port }) => `127.0.0.1:${port}`)
    // With an event, so that each write has two statements and a COMMIT.
    const options = { encryptionKeys, eventsKeepMs: 86_400_000 }
    store = await openSqlStore({ ...options, url: `mysql://${username}@${hosts.join(",")}${pathname}` })
    await applyMigrations(store.database)
  })
  afterAll(async () => {
    await store?.close()
    for (const proxy of proxies ?? []) await proxy.close()
    await database?.drop()
  })

  // After a test whose connections were cut, a read finds out which of the pool are lost.
  beforeEach(async () => {
    await store.users.get(anyone, newId())
  })

  /** Runs a call whose COMMIT gets no answer, and cuts its connection when the database has what it commits. */
  async function losing<T>(call: () => Promise<T>, isCommitted: () => Promise<boolean>): Promise<T> {
    for (const proxy of proxies) proxy.mute(commitText[engine])
    const outcome = call()
    outcome.catch(() => {})
    await until(isCommitted)
    expect(await Promise.race([outcome.catch(() => "failed"), "no answer yet"])).toBe("no answer yet")
    for (const proxy of proxies) proxy.reset()
    return outcome
  }

  /** Runs work with an entry of the audit, as calls do with an audit in the database. */
  const audited = <T>(work: (transaction: Transaction) => Promise<T>) =>
    store.audit.together(anyone, async (transaction) => ({ result: await work(transaction), entries: [] }))

  test("a user without an address is not created a second time", async () => {
    const name = newId()
    const isThere = async () => (await count("users WHERE name = ?", name)) > 0
    // Each run of the work creates another user, as CreateUser without an id does.
    const create = () => audited((transaction) => store.users.create({ ...anyone, transaction }, newUser({ name })))
    await expect(losing(create, isThere)).rejects.toMatchObject(unavailable)
    expect(await count("users WHERE name = ?", name)).toBe(1)
  })

  test("an address is not reported as that of another user", async () => {
    const user = newUser({ email: `${newId()}@example.com` })
    const isThere = async () => (await count("users WHERE id = ?", user.id)) > 0
    const create = () => audited((transaction) => store.users.create({ ...anyone, transaction }, user))
    await expect(losing(create, isThere)).rejects.toMatchObject(unavailable)
  })

  test("a verification token that was used is not reported as missing", async () => {
    const token = { identifier: newId(), token: newId(), expires: new Date("2030-01-01T00:00:00Z") }
    await store.verificationTokens.create(anyone, token)
    const isUsed = async () => (await count("verification_tokens WHERE identifier = ?", token.identifier)) === 0
    const use = () => audited((transaction) => store.verificationTokens.use({ ...anyone, transaction }, token))
    await expect(losing(use, isUsed)).rejects.toMatchObject(unavailable)
  })

  test("a session that was extended is not reported as one that was not due", async () => {
    const user = await store.users.create(anyone, newUser())
    const session = newSession(user.id, Date.now() + 60_000)
    await store.sessions.create(anyone, session)
    const isExtended = async () =>
      (await count("sessions WHERE user_id = ? AND expires > ?", user.id, new Date(Date.now() + 120_000))) > 0
    const access = () => store.sessions.access(anyone, session.sessionToken, { maxAge: 3_600_000, updateAge: 0 })
    await expect(losing(access, isExtended)).rejects.toMatchObject(unavailable)
  })

  test("a call with an idempotency key is answered, because it may run again", async () => {
    const name = newId()
    const isThere = async () => (await count("users WHERE name = ?", name)) > 0
    const create = () =>
      store.once(anyone, { owner: "o", key: newId(), digest: () => "d" }, async (transaction) =>
        Buffer.from((await store.users.create({ ...anyone, transaction }, newUser({ name }))).id),
      )
    const answer = Buffer.from(await losing(create, isThere)).toString()
    const stored = await database.query("SELECT id FROM users WHERE name = ?", [name])
    expect(stored.map(({ id }) => String(id))).toEqual([answer])
  })
})
