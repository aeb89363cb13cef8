import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases.js"
import { plainSql } from "@authwire/test-support/plain-sql.js"
import { createStoreDatabase } from "@authwire/test-support/store-database.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import {
  anyone,
  encryptionKeys,
  newAccount,
  newAuthenticator,
  newSession,
  newUser,
  range,
} from "../conformance/context.js"
import type { StoreDatabase } from "../conformance.js"
import type { Store } from "../store.js"
import type { Account, Session, User } from "../types.js"
import type { Statements } from "./database.js"
import { type Database, openDatabase, sqlStore } from "./index.js"
import type { Cell, Statement } from "./query/statement.js"

/** How a statement finds the rows of one table, by which index. */
interface Access {
  table: unknown
  type: unknown
  key: unknown
}

describe.each(databaseTargets())("plans on %s", (target) => {
  let tables: StoreDatabase & TestDatabase
  let database: Database
  const recorded: [statement: string, cells: Cell[]][] = []

  const users = range(50).map((n) => newUser({ email: `${n}@example.com` }))
  const user = users[7] as (typeof users)[0]
  const account = newAccount(user.id)
  const session = newSession(user.id, Date.now() + 86_400_000)
  const authenticator = newAuthenticator(user.id)

  /** A store that notes every statement that it runs. */
  const recordingStore = () => {
    const noting =
      <T>(run: <Values>(statement: Statement<Values>, values: Values) => Promise<T>) =>
      <Values>(statement: Statement<Values>, values: Values) => {
        recorded.push([statement.sql, statement.cells(values)])
        return run(statement, values)
      }
    const recording = ({ read, write }: Statements): Statements => ({ read: noting(read), write: noting(write) })
    const recorder: Database = {
      ...database,
      statements: (caller, work) => database.statements(caller, ({ read }) => work({ read: noting(read) })),
      writes: (caller, rows, work) => database.writes(caller, rows, (sql) => work(recording(sql))),
      transaction: (caller, rows, work) => database.transaction(caller, rows, (sql) => work(recording(sql))),
    }
    return sqlStore(recorder, { encryptionKeys })
  }

  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    database = await openDatabase({ url: tables.url, poolSize: 1 })
    const store = recordingStore()
    for (const each of users) {
      await store.users.create(anyone, each)
      await store.accounts.link(anyone, newAccount(each.id))
      await store.sessions.create(anyone, newSession(each.id, Date.now()))
      await store.authenticators.create(anyone, newAuthenticator(each.id))
    }
    await store.accounts.link(anyone, account)
    await store.sessions.create(anyone, session)
    await store.authenticators.create(anyone, authenticator)
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })

  const run = (statement: string, cells: Cell[] = []) =>
    database.statements({}, (sql) => sql.read(plainSql(statement), cells))

  /** The plan of a statement, for parameters of the types that the store sends. */
  async function planOf([statement, cells]: [string, Cell[]]): Promise<Access[]> {
    if (target === "mysql") {
      const rows = await run(`EXPLAIN FORMAT=TRADITIONAL ${statement}`, cells)
      return rows.map(([, , table, , type, , key]) => ({ table, type, key }))
    }
    if (target === "mariadb") {
      const rows = await run(`EXPLAIN ${statement}`, cells)
      return rows.map(([, , table, type, , key]) => ({ table, type, key }))
    }
    const rows = await run(`EXPLAIN QUERY PLAN ${statement}`, cells)
    // Such as "SEARCH u USING INDEX users_email_key (email_key=?)".
    const words = rows.map(([, , , detail]) => String(detail).replace("COVERING ", "").split(" "))
    return words
      .filter(([type]) => type === "SEARCH" || type === "SCAN")
      .map(([type, table, , , key]) => ({
        table,
        type: type === "SEARCH" ? "const" : "ALL",
        key: key?.startsWith("sqlite_autoindex") ? "PRIMARY" : key,
      }))
  }

  test.each<[string, (store: Store) => Promise<unknown>, Access[]]>([
    ["users.get", (store) => store.users.get(anyone, user.id), [{ table: "u", type: "const", key: "PRIMARY" }]],
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
      [
        { table: "s", type: "const", key: "PRIMARY" },
        { table: "u", type: "const", key: "PRIMARY" },
      ],
    ],
    ["accounts.get", (store) => store.accounts.get(anyone, account), [{ table: "a", type: "const", key: "PRIMARY" }]],
    [
      "authenticators.get",
      (store) => store.authenticators.get(anyone, authenticator.credentialID),
      [{ table: "a", type: "const", key: "PRIMARY" }],
    ],
  ])("%s is one statement that reads one row by a unique index", async (_, call, plan) => {
    recorded.length = 0
    expect(await call(recordingStore())).not.toBeNull()
    expect(recorded).toHaveLength(1)
    expect(await planOf(recorded[0] as (typeof recorded)[0])).toEqual(plan)
  })

  if (target !== "sqlite") {
    interface Given {
      user: User
      account: Account
      session: Session
    }
    test.each<[string, (store: Store, given: Given) => Promise<unknown>, Access[]]>([
      [
        "users.get",
        (store, given) => store.users.get(anyone, given.user.id),
        [{ table: "u", type: "range", key: "PRIMARY" }],
      ],
      [
        "users.getByEmail",
        (store, given) => store.users.getByEmail(anyone, given.user.email as string),
        [{ table: "u", type: "range", key: "users_email_key" }],
      ],
      [
        "users.getByAccount",
        (store, given) => store.users.getByAccount(anyone, given.account),
        [
          { table: "a", type: "range", key: "PRIMARY" },
          { table: "u", type: "eq_ref", key: "PRIMARY" },
        ],
      ],
      [
        "sessions.getWithUser",
        async (store, given) => (await store.sessions.getWithUser(anyone, given.session.sessionToken))?.user ?? null,
        [
          { table: "s", type: "range", key: "PRIMARY" },
          { table: "u", type: "eq_ref", key: "PRIMARY" },
        ],
      ],
    ])("%s together are one statement that reads a row for each by unique indexes", async (_, call, plan) => {
      const stored = sqlStore(database, { encryptionKeys })
      const given: Given[] = []
      for (const index of range(7)) {
        const one = newUser({ email: `${crypto.randomUUID()}@example.com` })
        const each = { user: one, account: newAccount(one.id), session: newSession(one.id, Date.now() + 86_400_000) }
        given.push(each)
        // Every other one is not there.
        if (index % 2 === 1) continue
        await stored.users.create(anyone, one)
        await stored.accounts.link(anyone, each.account)
        await stored.sessions.create(anyone, each.session)
      }
      recorded.length = 0
      const store = recordingStore()
      const found = await Promise.all(given.map((each) => call(store, each)))
      expect(found).toEqual(given.map((each, index) => (index % 2 === 1 ? null : each.user)))
      expect(recorded).toHaveLength(1)
      expect(await planOf(recorded[0] as (typeof recorded)[0])).toEqual(plan)
    })
  }

  describe("lists", () => {
    const many = { tenant: "many" }
    let owner: string
    const filter = { createdSince: new Date(0), createdBefore: new Date("9000-01-01") }
    beforeAll(async () => {
      const store = sqlStore(database, { encryptionKeys })
      const ids = range(400).map(() => newUser().id)
      for (const id of ids) await store.users.create(many, newUser({ id }))
      for (const id of [...ids, ...Array<string>(40).fill(ids[0] as string)]) {
        await store.accounts.link(many, newAccount(id))
      }
      owner = ids[0] as string
      if (target !== "sqlite") await tables.query("ANALYZE TABLE users, accounts")
    })

    test.each<[string, (store: Store) => Promise<unknown>, string, string]>([
      ["users.list", (store) => store.users.list(many, {}, { size: 5 }), "u", "users_created"],
      ["users.list, filtered", (store) => store.users.list(many, filter, { size: 5 }), "u", "users_created"],
      ["users.count", (store) => store.users.count(many, filter), "u", "users_created"],
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
    ])("%s reads by an index, from where the page begins and in its order", async (_, call, table, key) => {
      recorded.length = 0
      await call(recordingStore())
      expect(recorded).toHaveLength(1)
      const [statement] = recorded as [(typeof recorded)[0]]
      const [access] = await planOf(statement)
      expect(access).toMatchObject({ table, key, type: expect.stringMatching(/^(range|ref|const)$/) })
      expect(await sortsRows(statement)).toBe(false)
    })
  })

  /** Whether the rows are sorted after they were read. */
  async function sortsRows([statement, cells]: [string, Cell[]]): Promise<boolean> {
    const explain = { mysql: "EXPLAIN FORMAT=TRADITIONAL", mariadb: "EXPLAIN", sqlite: "EXPLAIN QUERY PLAN" }[target]
    return /filesort|TEMP B-TREE/i.test(String(await run(`${explain} ${statement}`, cells)))
  }

  test("every other statement finds its rows by an index too", async () => {
    recorded.length = 0
    const store = recordingStore()
    const expired = newSession(user.id, 0)
    await store.sessions.create(anyone, expired)
    await store.sessions.getWithUser(anyone, expired.sessionToken)
    await store.sessions.update(anyone, session.sessionToken, { expires: new Date(0) })
    await store.sessions.delete(anyone, session.sessionToken)
    await store.users.update(anyone, user.id, { name: "Ada" })
    await store.users.create(anyone, user).catch(() => {})
    await store.accounts.link(anyone, account)
    await store.accounts.unlink(anyone, account)
    const token = { identifier: "i", token: "t", expires: new Date() }
    await store.verificationTokens.create(anyone, token)
    await store.verificationTokens.use(anyone, token)
    await store.authenticators.listByUserId(anyone, user.id)
    await store.authenticators.updateCounter(anyone, authenticator.credentialID, 1)
    if (target !== "sqlite") await tables.query("ANALYZE TABLE users, accounts, sessions, authenticators")
    await store.users.delete(anyone, user.id)
    const searches = recorded.filter(([statement]) => !statement.startsWith("INSERT"))
    expect(searches.length).toBeGreaterThan(15)
    for (const search of searches) {
      for (const { type, key } of await planOf(search)) {
        expect({ search, type, key }).toMatchObject({ type: expect.not.stringMatching(/ALL|index/) })
      }
    }
  })

  if (target !== "sqlite") {
    test("a statement is prepared once on each connection, and then only executed", async () => {
      const store = sqlStore(database, { encryptionKeys })
      const count = async () => {
        const rows = await run(
          "SHOW SESSION STATUS WHERE Variable_name LIKE 'Com_stmt_%' OR Variable_name = 'Questions'",
        )
        return Object.fromEntries(rows.map(([name, value]) => [name, Number(value)]))
      }
      await store.users.getByAccount(anyone, account)
      await count()
      const before = await count()
      for (const _ of range(10)) await store.users.getByAccount(anyone, account)
      const after = await count()
      expect(after.Com_stmt_prepare).toBe(before.Com_stmt_prepare)
      // Counting is the eleventh.
      expect(after.Com_stmt_execute).toBe((before.Com_stmt_execute as number) + 11)
      expect(after.Questions).toBe((before.Questions as number) + 11)
    })
  }
})
