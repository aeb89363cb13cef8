import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type Access, type Plans, plansOf, type Ran } from "@authwire/test-support/databases/plans.js"
import { recordingDatabase } from "@authwire/test-support/databases/recording-database.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import {
  anyone,
  encryptionKeys,
  newAccount,
  newAuthenticator,
  newSession,
  newUser,
  range,
} from "../../conformance/context.js"
import type { StoreDatabase } from "../../conformance.js"
import type { Store, Transaction } from "../../store.js"
import type { Account, Page, PageRequest, Session, User } from "../../types.js"
import { type Database, openDatabase, sqlStore } from "../index.js"
import { countedAtOnce } from "../query/creation-count.js"
import { rowsPerStatement } from "../query/page.js"
import { joined } from "../query/statement.js"
import { hashOfToken } from "../sessions/session-keys.js"

describe.each(databaseTargets())("plans on %s", (target) => {
  let tables: StoreDatabase & TestDatabase
  let database: Database
  let plans: Plans
  const recorded: Ran[] = []

  const users = range(50).map((n) => newUser({ email: `${n}@example.com` }))
  const user = users[7] as (typeof users)[0]
  const account = newAccount(user.id)
  const session = newSession(user.id, Date.now() + 86_400_000)
  const authenticator = newAuthenticator(user.id)

  /** Opens a store that records every statement that it runs. */
  const recordingStore = () => sqlStore(recordingDatabase(database, recorded, { changes: true }), { encryptionKeys })

  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    database = await openDatabase({ url: tables.url, poolSize: 1 })
    plans = plansOf(target, database)
    const store = recordingStore()
    for (const each of users) {
      await store.users.create(anyone, each)
      await store.accounts.link(anyone, newAccount(each.id))
      await store.sessions.create(anyone, newSession(each.id, Date.now()))
      await store.authenticators.create(anyone, newAuthenticator(each.id))
    }
    await store.accounts.link(anyone, account)
    await store.sessions.create(anyone, session, { provider: "p" })
    for (const provider of ["", "p"])
      await store.sessions.revokeAll(anyone, { createdBefore: new Date(0), ...(provider && { provider }) })
    await store.authenticators.create(anyone, authenticator)
    if (target === "postgres") await fillTables("default")
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })

  /** Fills the tables, because PostgreSQL scans a small table whatever indexes there are. */
  async function fillTables(tenant: string) {
    const rows: [table: string, columns: string, values: string][] = [
      ["users", "id, email_key, extra", "n, n, '{}'"],
      ["accounts", "provider, provider_account_id, user_id, type, extra", "'p', n, n, 'oauth', '{}'"],
      ["sessions", "token_hash, user_id, expires, extra", "sha256(n::bytea), n, now(), '{}'"],
      ["session_policies", "provider", "n"],
      ["verification_tokens", "identifier, token_hash, expires", "n, sha256(n::bytea), now()"],
      [
        "authenticators",
        "credential_id, user_id, provider_account_id, credential_public_key, counter, credential_device_type, credential_backed_up, extra",
        "n, n, n, '', 0, '', true, '{}'",
      ],
    ]
    for (const [table, columns, values] of rows) {
      await tables.query(
        `INSERT INTO ${table} (tenant, ${columns}) SELECT '${tenant}', ${values} FROM (
           SELECT 'filling ' || number AS n FROM generate_series(1, 2000) AS number
         ) AS numbers`,
      )
    }
    await analyze(...rows.map(([table]) => table))
  }

  const analyze = async (...names: string[]) => {
    if (target === "sqlite") return
    // PostgreSQL counts by an index alone only if it knows which rows are visible to all transactions.
    await tables.query(`${target === "postgres" ? "VACUUM ANALYZE" : "ANALYZE TABLE"} ${names.join(", ")}`)
  }

  test("S-24: no value is a part of a statement's text", async () => {
    recorded.length = 0
    const store = recordingStore()
    const value = "mark' ; --"
    const id = value
    const email = `${value}@example.com`
    const extra = { [value]: value }
    await store.users.create(anyone, newUser({ id, name: value, email, image: value, extra }))
    await store.users.update(anyone, id, { name: `${value} 2`, extra })
    await store.users.getByEmail(anyone, email)
    await store.users.list(anyone, { email }, { size: 5 })
    const tokens = { provider: value, providerAccountId: value, access_token: value }
    await store.accounts.link(anyone, newAccount(id, tokens))
    await store.sessions.create(anyone, newSession(id, Date.now(), { sessionToken: value, extra }))
    await store.sessions.list(anyone, { userId: id, provider: value }, { size: 5 })
    const link = { identifier: value, token: value, expires: new Date() }
    await store.verificationTokens.create(anyone, link)
    expect(await store.verificationTokens.use(anyone, link)).toEqual(link)
    await store.users.delete(anyone, id)
    expect(recorded.filter(([, cells]) => String(cells).includes("mark")).length).toBeGreaterThan(9)
    expect(recorded.filter(([sql]) => sql.includes("mark'"))).toEqual([])
  })

  /** Returns accesses in the order of their tables. PostgreSQL numbers aliases that occur several times. */
  const byTable = (accesses: Access[]) =>
    accesses
      .map((one) => ({ ...one, table: String(one.table).replace(/_\d+$/, "") }))
      .toSorted((one, other) => (String(one.table) < String(other.table) ? -1 : 1))

  /** The accesses to the rows of the tenant's policy and of the session's provider, in the columns. */
  const ofPolicies: Access[] = range(4).map(() => ({
    table: "o",
    type: expect.stringMatching(/^(eq_ref|const)$/),
    key: "PRIMARY",
  }))

  /** The access to the mark of a user that is being deleted, by which rows of the user are left out. */
  const mark: Access = { table: "o", type: expect.stringMatching(/^(eq_ref|const)$/), key: "PRIMARY" }

  test.each<[string, (store: Store) => Promise<unknown>, Access[]]>([
    ["users.get", (store) => store.users.get(anyone, user.id), [{ table: "u", type: "const", key: "PRIMARY" }]],
    [
      "users.getWithTimes",
      (store) => store.users.getWithTimes(anyone, user.id),
      [{ table: "u", type: "const", key: "PRIMARY" }],
    ],
    [
      "users.getPrivateExtra",
      (store) => store.users.getPrivateExtra(anyone, user.id),
      [{ table: "u", type: "const", key: "PRIMARY" }],
    ],
    [
      "users.getByEmail",
      (store) => store.users.getByEmail(anyone, user.email as string),
      [{ table: "u", type: "const", key: "users_email_key" }],
    ],
    [
      "users.getByAccount",
      (store) => store.users.getByAccount(anyone, account),
      [
        { table: "a", type: "const", key: "PRIMARY" },
        { table: "u", type: "const", key: "PRIMARY" },
      ],
    ],
    [
      "sessions.getWithUser",
      (store) => store.sessions.getWithUser(anyone, session.sessionToken),
      [...ofPolicies, { table: "s", type: "const", key: "PRIMARY" }, { table: "u", type: "const", key: "PRIMARY" }],
    ],
    [
      "sessions.access, not due",
      (store) => store.sessions.access(anyone, session.sessionToken, { maxAge: 86_400_000, updateAge: 3_600_000 }),
      [...ofPolicies, { table: "s", type: "const", key: "PRIMARY" }, { table: "u", type: "const", key: "PRIMARY" }],
    ],
    [
      "accounts.get",
      (store) => store.accounts.get(anyone, account),
      [{ table: "a", type: "const", key: "PRIMARY" }, mark],
    ],
    [
      "tokenRefreshes.get with an account id",
      (store) => store.tokenRefreshes.get(anyone, account),
      [
        { table: "a", type: "const", key: "PRIMARY" },
        { table: "u", type: "const", key: "PRIMARY" },
      ],
    ],
    [
      "authenticators.get",
      (store) => store.authenticators.get(anyone, authenticator.credentialID),
      [{ table: "a", type: "const", key: "PRIMARY" }, mark],
    ],
  ])("%s is one statement that reads one row by a unique index", async (_, call, plan) => {
    recorded.length = 0
    expect(await call(recordingStore())).not.toBeNull()
    expect(recorded).toHaveLength(1)
    expect(byTable(await plans.of(recorded[0] as Ran))).toEqual(plan)
  })

  const severalRows = target === "sqlite" ? "const" : "range"
  interface Given {
    user: User
    account: Account
    session: Session
  }
  test.each<[string, (store: Store, given: Given) => Promise<unknown>, Access[]]>([
    [
      "users.get",
      (store, given) => store.users.get(anyone, given.user.id),
      [{ table: "u", type: severalRows, key: "PRIMARY" }],
    ],
    [
      "users.getByEmail",
      (store, given) => store.users.getByEmail(anyone, given.user.email as string),
      [{ table: "u", type: severalRows, key: "users_email_key" }],
    ],
    [
      "users.getByAccount",
      (store, given) => store.users.getByAccount(anyone, given.account),
      [
        { table: "a", type: severalRows, key: "PRIMARY" },
        { table: "u", type: expect.stringMatching(/^(eq_ref|const)$/), key: "PRIMARY" },
      ],
    ],
    [
      "sessions.getWithUser",
      async (store, given) => (await store.sessions.getWithUser(anyone, given.session.sessionToken))?.user ?? null,
      [
        ...ofPolicies,
        { table: "s", type: severalRows, key: "PRIMARY" },
        { table: "u", type: expect.stringMatching(/^(eq_ref|const)$/), key: "PRIMARY" },
      ],
    ],
  ])("%s together are one statement that reads a row for each by unique indexes", async (name, call, plan) => {
    const stored = sqlStore(database, { encryptionKeys })
    const given: Given[] = []
    for (const index of range(7)) {
      const one = newUser({ email: `${crypto.randomUUID()}@example.com` })
      const each = { user: one, account: newAccount(one.id), session: newSession(one.id, Date.now() + 86_400_000) }
      given.push(each)
      // Every other user does not exist.
      if (index % 2 === 1) continue
      await stored.users.create(anyone, one)
      await stored.accounts.link(anyone, each.account)
      await stored.sessions.create(anyone, each.session)
    }
    recorded.length = 0
    const store = recordingStore()
    const found = await Promise.all(given.map((each) => call(store, each)))
    expect(found).toEqual(given.map((each, index) => (index % 2 === 1 ? null : each.user)))
    // SQLite does not use an index for a list of keys of several columns.
    const isShared = target !== "sqlite" || name !== "users.getByAccount"
    expect(recorded).toHaveLength(isShared ? 1 : given.length)
    for (const one of recorded) expect(byTable(await plans.of(one))).toEqual(plan)
  })

  test("sessions.access with an extension runs one more statement, which finds its row by the key", async () => {
    recorded.length = 0
    const extension = { maxAge: 2 * 86_400_000, updateAge: 3_600_000 }
    expect(await recordingStore().sessions.access(anyone, session.sessionToken, extension)).toMatchObject({
      extended: true,
    })
    expect(recorded).toHaveLength(2)
    const update = recorded[1] as (typeof recorded)[0]
    expect(update[0]).toMatch(/^UPDATE/)
    // On SQLite nothing can be committed after EXPLAIN of a write, so the last test does it.
    if (target !== "sqlite") for (const { key } of await plans.of(update)) expect(key).toBe("PRIMARY")
  })

  describe("lists", () => {
    const many = { tenant: "many" }
    let owner: string
    let ids: string[]
    const filter = { createdSince: new Date(0), createdBefore: new Date("9000-01-01") }
    beforeAll(async () => {
      const store = sqlStore(database, { encryptionKeys })
      ids = range(400).map(() => newUser().id)
      for (const id of ids) await store.users.create(many, newUser({ id }))
      for (const id of [...ids, ...Array<string>(40).fill(ids[0] as string)]) {
        await store.accounts.link(many, newAccount(id))
        await store.authenticators.create(many, newAuthenticator(id))
      }
      owner = ids[0] as string
      await store.tenants.create({}, { name: many.tenant, created: new Date(0) })
      const key = { name: "n", scopes: ["all"], secretHash: Buffer.alloc(32) }
      for (const n of range(400)) await store.tenantApiKeys.create(many, { ...key, id: `key ${n}` })
      if (target === "postgres") await fillTables("many")
      await analyze("users", "accounts", "authenticators", "api_keys")
    })

    test.each<[string, (store: Store) => Promise<unknown>, string, string | readonly string[]]>([
      ["users.list", (store) => store.users.list(many, {}, { size: 5 }), "u", "users_created"],
      ["users.list, filtered", (store) => store.users.list(many, filter, { size: 5 }), "u", "users_created"],
      [
        "users.count",
        (store) => store.users.count(many, filter),
        "u",
        ["users_created", "users_created", "users_deleted"],
      ],
      [
        "users.count by address",
        (store) => store.users.count(anyone, { email: user.email as string }),
        "u",
        "users_email_key",
      ],
      [
        "accounts.listByUser",
        (store) => store.accounts.listByUser(many, owner, { size: 5 }, { tokens: false }),
        "a",
        "accounts_user_id",
      ],
      [
        "authenticators.list",
        (store) => store.authenticators.list(many, owner, { size: 5 }),
        "a",
        "authenticators_user_id",
      ],
      ["tenantApiKeys.list", (store) => store.tenantApiKeys.list(many, { size: 5 }), "k", "api_keys_list"],
      [
        "tokenRefreshes.get",
        (store) => store.tokenRefreshes.get(many, { userId: ids[1] as string, provider: "github" }),
        "a",
        "accounts_user_id",
      ],
    ])("%s reads by an index, from where the page begins and in its order", async (_, call, table, keys) => {
      recorded.length = 0
      await call(recordingStore())
      const used: unknown[] = []
      for (const statement of recorded) {
        const access = (await plans.of(statement)).find((one) => one.table === table)
        expect(access).toMatchObject({ type: expect.stringMatching(/^(range|ref|const)$/) })
        used.push(access?.key)
        expect(await plans.sortsRows(statement)).toBe(false)
      }
      expect(used).toEqual([keys].flat())
    })

    test.each<[string, (store: Store, page: PageRequest) => Promise<Page<unknown>>]>([
      ["users.list", (store, page) => store.users.list(many, filter, page)],
      ["accounts.listByUser", (store, page) => store.accounts.listByUser(many, owner, page, { tokens: false })],
      ["authenticators.list", (store, page) => store.authenticators.list(many, owner, page)],
      ["tenantApiKeys.list", (store, page) => store.tenantApiKeys.list(many, page)],
    ])("S-23: a later page of %s examines no more rows than it returns", async (_, list) => {
      const { nextToken: token } = await list(recordingStore(), { size: 24 })
      recorded.length = 0
      await list(recordingStore(), { size: 5, token })
      const [statement] = recorded as [Ran]
      expect((await plans.rowsExamined(statement)) ?? 0).toBeLessThanOrEqual(rowsPerStatement + 2)
      if (target === "sqlite") expect(await plans.text(statement)).toMatch(/,\w+\)>\(|AND \w+>\?/)
    })

    test("S-23: users.count examines a limited number of entries in a statement, and counts every user once", async () => {
      const crowd = { tenant: "crowd" }
      const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 112)
        SELECT 1000 * a.n + b.n AS n FROM numbers a, numbers b WHERE b.n <= 100`
      const id = target === "mysql" || target === "mariadb" ? "CONCAT('u', n)" : "'u' || n"
      const insert = `INSERT INTO users (tenant, id, extra, created)
        SELECT 'crowd', ${id}, '{}', '2026-01-01 00:00:00.000' FROM (${numbers}) AS all_numbers`
      await database.withQueryRunner((runner) => runner.query(insert))
      await analyze("users")
      recorded.length = 0
      expect(await recordingStore().users.count(crowd, {})).toBe(11_200)
      expect(recorded).toHaveLength(5)
      for (const statement of recorded)
        expect((await plans.rowsExamined(statement)) ?? 0).toBeLessThanOrEqual(countedAtOnce + 5)
    })
  })

  test.each(["sessions", "verification_tokens"])(
    "expired rows of %s are found by the index of their time, and deleted by their key",
    async (table) => {
      const store = sqlStore(database, { encryptionKeys })
      const owner = newUser()
      await store.users.create({ tenant: "many" }, owner)
      for (const n of range(600)) {
        const expires = new Date(n < 300 ? Date.UTC(1990, 0, 1) + n : Date.now() + n * 1000)
        await store.sessions.create({ tenant: "many" }, newSession(owner.id, expires.getTime()))
        await store.verificationTokens.create({ tenant: "many" }, { identifier: `${table} ${n}`, token: "t", expires })
      }
      if (target === "postgres") {
        // PostgreSQL estimates that a range with two unknown ends matches a two-hundredth of the rows, and sorts them
        // if they are few.
        const row = {
          sessions: `'many', sha256(n::text::bytea), '${owner.id}', now() + n * interval '1 s', '{}'`,
          verification_tokens: "'many', 'many ' || n, sha256(n::text::bytea), now() + n * interval '1 s'",
        }[table]
        const columns = {
          sessions: "tenant, token_hash, user_id, expires, extra",
          verification_tokens: "tenant, identifier, token_hash, expires",
        }[table]
        await tables.query(`INSERT INTO ${table} (${columns}) SELECT ${row} FROM generate_series(1, 60000) n`)
      }
      await analyze(table)
      recorded.length = 0
      const rows = recordingStore().expired.tables.find((one) => one.table === table)
      const span = { from: new Date(Date.UTC(1990, 0, 1)), before: new Date(Date.UTC(1990, 0, 2)), limit: 100 }
      expect(await rows?.deleteBatch({}, span)).toMatchObject({ count: 100 })
      const [select, remove] = recorded as [Ran, Ran]
      const [access] = await plans.of(select)
      expect(access).toMatchObject({ key: `${table}_expires`, type: expect.stringMatching(/^(range|const)$/) })
      expect(await plans.sortsRows(select)).toBe(false)
      // On SQLite nothing can be committed after EXPLAIN of a write.
      if (target !== "sqlite") for (const { key } of await plans.of(remove)) expect(key).toBe("PRIMARY")
    },
  )

  test("the rows of a deleted user are found by the index of their user, and deleted by their key", async () => {
    const store = sqlStore(database, { encryptionKeys })
    const deleted = newUser()
    await store.users.create(anyone, deleted)
    await store.sessions.create(anyone, newSession(deleted.id, 0))
    await store.accounts.link(anyone, newAccount(deleted.id))
    await store.authenticators.create(anyone, newAuthenticator(deleted.id))
    const { users: userTable } = database.tables
    const key = { tenant: "default", id: deleted.id }
    const mark = userTable.statement(
      userTable.updateOf("deleted").where(userTable.keyIs()),
      ...userTable.key,
      "deleted",
    )
    await database.writes({}, [], (sql) => sql.write(mark, { ...key, deleted: new Date() }))
    await analyze("users", "accounts", "sessions", "authenticators")
    recorded.length = 0
    const rows = recordingStore().expired.tables.find(({ table }) => table === "users")
    expect(await rows?.deleteBatch({}, { from: new Date(0), before: new Date(0), limit: 100 })).toMatchObject({
      count: 4,
    })
    const selects = recorded.filter(([statement]) => statement.startsWith("SELECT"))
    const keys = ["users_deleted", "sessions_user_id", "accounts_user_id", "authenticators_user_id", "users_deleted"]
    const used: unknown[] = []
    for (const select of selects) used.push((await plans.of(select))[0]?.key)
    expect(used).toEqual(keys)
    // On SQLite nothing can be committed after EXPLAIN of a write.
    if (target === "sqlite") return
    for (const change of recorded.filter((one) => !selects.includes(one))) {
      expect((await plans.of(change))[0]?.key).toBe("PRIMARY")
    }
  })

  test("sessions.access of several due sessions runs three statements, which find the rows by their keys", async () => {
    const tenant = { tenant: "many" }
    const store = recordingStore()
    const owner = newUser()
    await store.users.create(tenant, owner)
    const due = range(7).map(() => newSession(owner.id, Date.now() + 86_400_000))
    for (const one of due) await store.sessions.create(tenant, one)
    recorded.length = 0
    const extension = { maxAge: 2 * 86_400_000, updateAge: 3_600_000 }
    const answers = await Promise.all(due.map((one) => store.sessions.access(tenant, one.sessionToken, extension)))
    expect(answers.map((answer) => answer?.extended)).toEqual(due.map(() => true))
    expect(recorded.map(([statement]) => statement.split(" ", 1)[0])).toEqual(["SELECT", "SELECT", "UPDATE"])
    // On SQLite nothing can be committed after EXPLAIN of a write.
    for (const one of recorded.slice(1, target === "sqlite" ? 2 : 3)) {
      const [access] = await plans.of(one)
      expect(access).toMatchObject({ key: "PRIMARY", type: expect.stringMatching(/^(range|ref|const)$/) })
    }
  })

  test("every other statement finds its rows by an index too", async () => {
    recorded.length = 0
    const store = recordingStore()
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
    await store.authenticators.updateCounter(anyone, authenticator.credentialID, 1)
    await analyze("users", "accounts", "sessions", "authenticators")
    await store.users.delete(anyone, user.id)
    const searches = recorded.filter(([statement]) => !statement.startsWith("INSERT"))
    expect(searches.length).toBeGreaterThan(17)
    for (const search of searches) {
      for (const { type, key } of await plans.of(search)) {
        expect({ search, type, key }).toMatchObject({ type: expect.not.stringMatching(/ALL|index/) })
      }
    }
  })

  // On SQLite no transactions are shared, and no two changes of a kind are combined.
  if (target !== "sqlite")
    test("a statement that combines changes of a kind finds their rows by the key", async () => {
      // A small table is scanned.
      if (target !== "postgres") {
        const numbers = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)"
        await tables.query(
          `INSERT INTO users (tenant, id, extra) ${numbers} SELECT 'default', CONCAT('filling ', n), '{}' FROM numbers`,
        )
        await tables.query(
          `INSERT INTO sessions (tenant, token_hash, user_id, expires, extra) ${numbers}
           SELECT 'default', UNHEX(SHA2(n, 256)), CONCAT('filling ', n), '2031-02-03', '{}' FROM numbers`,
        )
        await analyze("users", "sessions")
      }
      const { users: userTable, sessions } = database.tables
      const [cleared, deleted] = [userTable.cleared("provisionalUntil"), sessions.deletedIfUnchanged()]
      const store = sqlStore(database, { encryptionKeys })
      for (const count of [2, 16]) {
        const changes = await Promise.all(
          range(count).map(async () => {
            const { id } = await store.users.create(anyone, newUser())
            const { sessionToken } = await store.sessions.create(anyone, newSession(id, Date.now()))
            const key = { tenant: "default", tokenHash: hashOfToken(sessionToken) }
            const [cells = []] = await database.reads({}).read(sessions.byKey, key)
            return [cleared({ tenant: "default", id }), deleted({ ...key, cells })]
          }),
        )
        const statements = joined(changes.flat())
        expect(statements).toHaveLength(2)
        for (const { sql, cells } of statements) {
          const [access] = await plans.of([sql, cells])
          expect(access).toMatchObject({ key: "PRIMARY", type: expect.stringMatching(/^(range|const)$/) })
        }
      }
    })
})
