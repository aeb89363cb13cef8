import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases.js"
import { plainSql } from "@authwire/test-support/plain-sql.js"
import { createStoreDatabase } from "@authwire/test-support/store-database.js"
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals"
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
import { type Database, openDatabase, sqlStore } from "./index.js"
import type { Cell, Statement, Statements } from "./query/statement.js"

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
      olderStatements: (caller, work) => database.olderStatements(caller, ({ read }) => work({ read: noting(read) })),
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
    if (target === "postgres") await fillTables("default")
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })

  const run = (statement: string, cells: Cell[] = []) =>
    database.statements({}, (sql) => sql.read(plainSql(statement), cells))

  /** PostgreSQL reads a small table whole, whatever indexes there are. */
  async function fillTables(tenant: string) {
    const rows: [table: string, columns: string, values: string][] = [
      ["users", "id, email_key, extra", "n, n, '{}'"],
      ["accounts", "provider, provider_account_id, user_id, type, extra", "'p', n, n, 'oauth', '{}'"],
      ["sessions", "token_hash, user_id, expires, extra", "sha256(n::bytea), n, now(), '{}'"],
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
    // PostgreSQL counts by an index alone where it knows which rows everybody sees.
    await tables.query(`${target === "postgres" ? "VACUUM ANALYZE" : "ANALYZE TABLE"} ${names.join(", ")}`)
  }

  /** The plan of a statement, for parameters of the types that the store sends. */
  async function planOf([statement, cells]: [string, Cell[]]): Promise<Access[]> {
    if (target === "mysql") {
      const rows = await run(`EXPLAIN FORMAT=TRADITIONAL ${statement}`, cells)
      return rows.map(([, , table, , type, , key]) => ({ table, type, key }))
    }
    if (target === "postgres") return postgresPlan(statement, cells)
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

  /** What PostgreSQL says of a statement that is prepared: its plan is for any values. */
  async function explained(explain: string, statement: string, cells: Cell[]) {
    const literal = (cell: Cell) => {
      if (cell === null) return "NULL"
      if (Buffer.isBuffer(cell)) return `'\\x${cell.toString("hex")}'`
      return `'${(cell instanceof Date ? cell.toISOString() : String(cell)).replaceAll("'", "''")}'`
    }
    await run(`PREPARE explained AS ${statement}`)
    const values = cells.length === 0 ? "" : `(${cells.map(literal).join(", ")})`
    const rows = await run(`${explain} EXECUTE explained${values}`)
    await run("DEALLOCATE explained")
    return rows[0]?.[0]
  }

  /** Also one that modifies a table has what finds its rows below it. */
  async function postgresPlan(statement: string, cells: Cell[]): Promise<Access[]> {
    interface Node {
      "Node Type": string
      Alias?: string
      "Index Name"?: string
      "Index Cond"?: string
      Plans?: Node[]
    }
    const found = await explained("EXPLAIN (FORMAT JSON)", statement, cells)
    const root = (found as unknown as [{ Plan: Node }])[0].Plan
    const accesses: Access[] = []
    const visit = (node: Node): void => {
      const { "Node Type": type, "Index Name": index, "Index Cond": condition, Alias: table } = node
      const key = index?.endsWith("_pkey") ? "PRIMARY" : index
      if (type === "Seq Scan") accesses.push({ table, type: "ALL", key: null })
      else if (type === "Bitmap Heap Scan") accesses.push({ table, type: "range", key: bitmapIndex(node) })
      else if (index !== undefined) {
        accesses.push({
          table,
          type: condition === undefined ? "index" : / = ANY /.test(condition) ? "range" : "const",
          key,
        })
      }
      if (type !== "Bitmap Heap Scan") for (const one of node.Plans ?? []) visit(one)
    }
    const bitmapIndex = (node: Node): string | undefined =>
      node["Index Name"]?.replace(/^.*_pkey$/, "PRIMARY") ?? node.Plans?.map(bitmapIndex)[0]
    visit(root)
    return accesses
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
    [
      "sessions.access, not due",
      (store) => store.sessions.access(anyone, session.sessionToken, { maxAge: 86_400_000, updateAge: 3_600_000 }),
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
          { table: "u", type: expect.stringMatching(/^(eq_ref|const)$/), key: "PRIMARY" },
        ],
      ],
      [
        "sessions.getWithUser",
        async (store, given) => (await store.sessions.getWithUser(anyone, given.session.sessionToken))?.user ?? null,
        [
          { table: "s", type: "range", key: "PRIMARY" },
          { table: "u", type: expect.stringMatching(/^(eq_ref|const)$/), key: "PRIMARY" },
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

  test("sessions.access that extends writes by one statement more, which finds its row by the key", async () => {
    recorded.length = 0
    const extension = { maxAge: 2 * 86_400_000, updateAge: 3_600_000 }
    expect(await recordingStore().sessions.access(anyone, session.sessionToken, extension)).toMatchObject({
      extended: true,
    })
    expect(recorded).toHaveLength(2)
    const update = recorded[1] as (typeof recorded)[0]
    expect(update[0]).toMatch(/^UPDATE/)
    // On SQLite nothing can be committed after a write was explained: the last test does it.
    if (target !== "sqlite") for (const { key } of await planOf(update)) expect(key).toBe("PRIMARY")
  })

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
      if (target === "postgres") await fillTables("many")
      await analyze("users", "accounts")
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

  test.each(["sessions", "verification_tokens"])(
    "what has expired of %s is found by the index of its time, and deleted by its key",
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
        // It expects a range of two unknown ends to have a two-hundredth of the rows, and sorts that many if they are few.
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
      if (target !== "sqlite")
        await tables.query(`${target === "postgres" ? "VACUUM ANALYZE" : "ANALYZE TABLE"} ${table}`)
      recorded.length = 0
      const rows = recordingStore().expired.tables.find((one) => one.table === table)
      const span = { from: new Date(Date.UTC(1990, 0, 1)), before: new Date(Date.UTC(1990, 0, 2)), limit: 100 }
      expect(await rows?.deleteBatch({}, span)).toMatchObject({ count: 100 })
      const [select, remove] = recorded as [(typeof recorded)[0], (typeof recorded)[0]]
      const [access] = await planOf(select)
      expect(access).toMatchObject({ key: `${table}_expires`, type: expect.stringMatching(/^(range|const)$/) })
      expect(await sortsRows(select)).toBe(false)
      // On SQLite nothing can be committed after a write was explained.
      if (target !== "sqlite") for (const { key } of await planOf(remove)) expect(key).toBe("PRIMARY")
    },
  )

  /** Whether the rows are sorted after they were read. */
  async function sortsRows([statement, cells]: [string, Cell[]]): Promise<boolean> {
    if (target === "postgres") {
      return JSON.stringify(await explained("EXPLAIN (FORMAT JSON)", statement, cells)).includes('"Sort"')
    }
    const explain = { mysql: "EXPLAIN FORMAT=TRADITIONAL", mariadb: "EXPLAIN", sqlite: "EXPLAIN QUERY PLAN" }[target]
    return /filesort|TEMP B-TREE/i.test(String(await run(`${explain} ${statement}`, cells)))
  }

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
    const write = async (unit: object) => {
      await store.users.create({ ...anyone, unit }, newUser())
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
      for (const { type, key } of await planOf(search)) {
        expect({ search, type, key }).toMatchObject({ type: expect.not.stringMatching(/ALL|index/) })
      }
    }
  })

  if (target === "postgres") {
    test("a statement is prepared once on each connection, and then only executed", async () => {
      const store = sqlStore(database, { encryptionKeys })
      // The connection of the pool, the only one: the one for the sign of life has not been used.
      const prepared = () =>
        run(`SELECT statement, generic_plans + custom_plans FROM pg_prepared_statements
             WHERE statement LIKE 'SELECT "u"%"accounts" "a" INNER JOIN%' AND statement NOT LIKE '% IN %'`)
      await store.users.getByAccount(anyone, account)
      const [[text, before] = [], ...others] = await prepared()
      expect(others).toEqual([])
      for (const _ of range(10)) await store.users.getByAccount(anyone, account)
      expect(await prepared()).toEqual([[text, String(Number(before) + 10)]])
    })
  }

  if (target === "postgres") {
    test("a plan that was made for a small table is not kept when it has grown", async () => {
      const empty = await createStoreDatabase(target)
      const own = await openDatabase({ url: empty.url, poolSize: 1 })
      const store = sqlStore(own, { encryptionKeys })
      // Only the store sees to it here.
      await empty.query("ALTER TABLE users SET (autovacuum_enabled = off)")
      await store.users.create(anyone, user)
      await empty.query("ANALYZE users")
      /** How often a look-up reads the table whole. */
      const wholeReads = async () => {
        const count = async () => {
          await own.statements({}, (sql) => sql.read(plainSql("SELECT pg_stat_force_next_flush()"), []))
          const [row] = await empty.query("SELECT seq_scan AS n FROM pg_stat_user_tables WHERE relname = 'users'")
          return Number(row?.n)
        }
        const before = await count()
        expect(await store.users.get(anyone, user.id)).toEqual(user)
        return (await count()) - before
      }
      expect(await wholeReads()).toBe(1)
      await empty.query(
        "INSERT INTO users (tenant, id, extra) SELECT 'default', 'u' || n, '{}' FROM generate_series(1, 5000) AS n",
      )
      const now = performance.now.bind(performance)
      const later = jest.spyOn(performance, "now").mockImplementation(() => now() + 11_000)
      const afterwards = await wholeReads()
      later.mockRestore()
      await own.close()
      await empty.drop()
      expect(afterwards).toBe(0)
    })
  }

  if (target === "mysql" || target === "mariadb") {
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
