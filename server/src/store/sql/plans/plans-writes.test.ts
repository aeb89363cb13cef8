import { createHash } from "node:crypto"
import {
  createUsers,
  openPlanned,
  type PlannedDatabase,
  plannedTargets,
} from "@authwire/test-support/databases/planned-database.js"
import type { Ran } from "@authwire/test-support/databases/plans.js"
import {
  anyone,
  encryptionKeys,
  newAccount,
  newAuthenticator,
  newSession,
  newUser,
  range,
} from "@authwire/test-support/store-contract/context.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Transaction } from "../../store.js"
import type { Account, Authenticator, Session, User } from "../../types.js"
import { sqlStore } from "../index.js"
import { joined } from "../query/statement.js"
import { hashOfToken } from "../sessions/session-keys.js"

describe.each(plannedTargets())("plans of writes on %s", (target) => {
  let planned: PlannedDatabase
  let user: User
  let account: Account
  let session: Session
  let authenticator: Authenticator
  beforeAll(async () => {
    planned = await openPlanned(target)
    ;({ user, account, session, authenticator } = await createUsers(planned.recordingStore()))
    if (target !== "sqlite") await planned.fill("default")
  })
  afterAll(() => planned.close())

  describe("expired rows", () => {
    const tables = ["sessions", "verification_tokens"] as const
    const columnsOf = {
      sessions: "tenant, token_hash, user_id, expires, extra",
      verification_tokens: "tenant, identifier, token_hash, expires",
    }
    beforeAll(async () => {
      const { sql, query, moment } = planned.tables
      const owner = newUser()
      await sqlStore(planned.database, { encryptionKeys }).users.create({ tenant: "many" }, owner)
      for (const table of tables) {
        const columns = columnsOf[table]
        const rows = range(1200).map((n) => {
          const hash = createHash("sha256").update(`one ${n}`).digest()
          const expires = moment(n < 600 ? Date.UTC(1990, 0, 1) + n : Date.now() + n * 1000)
          return table === "sessions" ? ["many", hash, owner.id, expires, "{}"] : ["many", `${n}`, hash, expires]
        })
        await sql(
          `INSERT INTO ${table} (${columns}) VALUES ${rows.map((row) => `(${row.map(() => "?")})`)}`,
          rows.flat(),
        )
        if (target === "postgres") {
          // PostgreSQL estimates that a range with two unknown ends matches a two-hundredth of the rows, and sorts them
          // if they are few.
          const row = {
            sessions: `'many', sha256(n::text::bytea), '${owner.id}', now() + n * interval '1 s', '{}'`,
            verification_tokens: "'many', 'many ' || n, sha256(n::text::bytea), now() + n * interval '1 s'",
          }[table]
          await query(`INSERT INTO ${table} (${columns}) SELECT ${row} FROM generate_series(1, 60000) n`)
        }
        await planned.analyze(table)
      }
    })

    test.each(tables)("of %s are found by the index of their time, and deleted by their key", async (table) => {
      planned.recorded.length = 0
      const rows = planned.recordingStore().expired.tables.find((one) => one.table === table)
      const span = { from: new Date(Date.UTC(1990, 0, 1)), before: new Date(Date.UTC(1990, 0, 2)), limit: 100 }
      expect(await rows?.deleteBatch({}, span)).toMatchObject({ count: 100 })
      const [select, remove] = planned.recorded as [Ran, Ran]
      const [access] = await planned.plans.of(select)
      expect(access).toMatchObject({ key: `${table}_expires`, type: expect.stringMatching(/^(range|const)$/) })
      expect(await planned.plans.sortsRows(select)).toBe(false)
      for (const { key } of await planned.plans.of(remove)) expect(key).toBe("PRIMARY")
    })
  })

  test("the rows of a deleted user are found by the index of their user, and deleted by their key", async () => {
    const store = sqlStore(planned.database, { encryptionKeys })
    const deleted = newUser()
    await store.users.create(anyone, deleted)
    await store.sessions.create(anyone, newSession(deleted.id, 0))
    await store.accounts.link(anyone, newAccount(deleted.id))
    await store.authenticators.create(anyone, newAuthenticator(deleted.id))
    const { users: userTable } = planned.database.tables
    const key = { tenant: "default", id: deleted.id }
    const mark = userTable.statement(
      userTable.updateOf("deleted").where(userTable.keyIs()),
      ...userTable.key,
      "deleted",
    )
    await planned.database.write({}, [], (sql) => sql.write(mark, { ...key, deleted: new Date() }))
    await planned.analyze("users", "accounts", "sessions", "authenticators")
    planned.recorded.length = 0
    const rows = planned.recordingStore().expired.tables.find(({ table }) => table === "users")
    expect(await rows?.deleteBatch({}, { from: new Date(0), before: new Date(0), limit: 100 })).toMatchObject({
      count: 4,
    })
    const selects = planned.recorded.filter(([statement]) => statement.startsWith("SELECT"))
    const keys = ["users_deleted", "sessions_user_id", "accounts_user_id", "authenticators_user_id", "users_deleted"]
    const used: unknown[] = []
    for (const select of selects) used.push((await planned.plans.of(select))[0]?.key)
    expect(used).toEqual(keys)
    for (const change of planned.recorded.filter((one) => !selects.includes(one))) {
      expect((await planned.plans.of(change))[0]?.key).toBe("PRIMARY")
    }
  })

  test("every other statement finds its rows by an index too", async () => {
    planned.recorded.length = 0
    const store = planned.recordingStore()
    const expired = newSession(user.id, 0)
    await store.sessions.create(anyone, expired)
    await store.sessions.getWithUser(anyone, expired.sessionToken)
    await store.sessions.access(anyone, session.sessionToken, { maxAge: 3 * 86_400_000, updateAge: 0 })
    await store.sessions.update(anyone, session.sessionToken, { expires: new Date(0) })
    await store.sessions.delete(anyone, session.sessionToken)
    await store.users.update(anyone, user.id, { name: "Ada" })
    await store.users.create(anyone, user).catch(() => {})
    await store.accounts.link(anyone, account)
    await store.accounts.unlink(anyone, account)
    const token = { identifier: "i", token: "t", expires: new Date() }
    await store.verificationTokens.create(anyone, token)
    await store.verificationTokens.use(anyone, token)
    const request = { owner: "", key: "k", digest: () => "" }
    const write = async (transaction: Transaction) => {
      await store.users.create({ ...anyone, transaction }, newUser())
      return Buffer.from("")
    }
    await store.once(anyone, request, write)
    await store.once(anyone, request, write)
    await store.authenticators.listByUserId(anyone, user.id)
    const [linked = account] = (await store.accounts.listByUser(anyone, user.id, { size: 1 }, { tokens: false })).items
    for (const providerSessionId of ["sid", "Sid"]) {
      const origin = { provider: account.provider, providerSessionId }
      await store.sessions.create(anyone, newSession(user.id, Date.now()), origin)
      await store.signals.endProviderSession(anyone, { ...origin, providerSessionId: "sid" })
      await store.signals.revokeAccount(anyone, linked, { sessions: true, tokens: "all" })
      for (const ended of [origin, { provider: account.provider, userId: user.id }])
        await store.signals.endTokens(anyone, ended)
    }
    await store.users.count(anyone, { email: user.email })
    await store.tokenRefreshes.get(anyone, { userId: user.id, provider: account.provider })
    await store.authenticators.updateCounter(anyone, authenticator.credentialID, 1)
    await planned.analyze("users", "accounts", "sessions", "authenticators")
    await store.users.delete(anyone, user.id)
    const searches = planned.recorded.filter(([statement]) => !statement.startsWith("INSERT"))
    expect(searches.length).toBeGreaterThan(17)
    for (const search of searches) {
      for (const { type, key } of await planned.plans.of(search)) {
        expect({ search, type, key }).toMatchObject({ type: expect.not.stringMatching(/ALL|index/) })
      }
    }
  })

  // On SQLite no transactions are shared, and no two changes of a kind are combined.
  if (target !== "sqlite")
    test("a statement that combines changes of a kind finds their rows by the key", async () => {
      const { users: userTable, sessions } = planned.database.tables
      const [cleared, deleted] = [userTable.erasure("provisionalUntil"), sessions.deletionIfUnchanged()]
      const store = sqlStore(planned.database, { encryptionKeys })
      for (const count of [2, 16]) {
        const changes = await Promise.all(
          range(count).map(async () => {
            const { id } = await store.users.create(anyone, newUser())
            const { sessionToken } = await store.sessions.create(anyone, newSession(id, Date.now()))
            const key = { tenant: "default", tokenHash: hashOfToken(sessionToken) }
            const [cells = []] = await planned.database.reads({}).read(sessions.byKey, key)
            return [cleared({ tenant: "default", id }), deleted({ ...key, cells })]
          }),
        )
        const statements = joined(changes.flat())
        expect(statements).toHaveLength(2)
        for (const { sql, cells } of statements) {
          const [access] = await planned.plans.of([sql, cells])
          expect(access).toMatchObject({ key: "PRIMARY", type: expect.stringMatching(/^(range|const)$/) })
        }
      }
    })
})
