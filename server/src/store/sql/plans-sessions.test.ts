import { databaseTargets } from "@authwire/test-support/databases.js"
import { plainSql } from "@authwire/test-support/plain-sql.js"
import { createStoreDatabase } from "@authwire/test-support/store-database.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { encryptionKeys, newSession, newUser, range } from "../conformance/context.js"
import type { StoreDatabase } from "../conformance.js"
import type { Store } from "../store.js"
import { type Database, openDatabase, sqlStore } from "./index.js"
import type { Cell, Statement, Statements } from "./query/statement.js"

describe.each(databaseTargets())("plans of the lists and revocations of sessions on %s", (target) => {
  const many = { tenant: "many" }
  let tables: StoreDatabase & { url: string; query(sql: string): Promise<unknown> }
  let database: Database
  let id: string
  const recorded: [statement: string, cells: Cell[]][] = []

  /** A store that notes every statement that it runs. */
  const recordingStore = () => {
    const noting =
      <T>(run: <Values>(statement: Statement<Values>, values: Values) => Promise<T>) =>
      <Values>(statement: Statement<Values>, values: Values) => {
        recorded.push([statement.sql, statement.cells(values)])
        return run(statement, values)
      }
    const recorder: Database = {
      ...database,
      statements: (caller, work) => database.statements(caller, ({ read }) => work({ read: noting(read) })),
      // What deletes is only explained: so each finds the rows that the others have found.
      writes: (caller, rows, work) =>
        database.writes(caller, rows, (sql: Statements) =>
          work({ read: noting(sql.read), write: noting(async () => 0) }),
        ),
    }
    return sqlStore(recorder, { encryptionKeys })
  }

  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    database = await openDatabase({ url: tables.url, poolSize: 1 })
    const store = sqlStore(database, { encryptionKeys })
    for (const n of range(300)) {
      await store.users.create(many, newUser({ id: `${n}` }))
      await store.sessions.create(many, newSession(`${n}`, Date.now() + 86_400_000), { provider: "p" })
    }
    for (const _ of range(40)) {
      const created = await store.sessions.create(many, newSession("0", Date.now() + 86_400_000), { provider: "p" })
      id = created.id as string
    }
    if (target === "postgres") {
      // It reads a small table whole, whatever indexes there are.
      await tables.query(`INSERT INTO sessions (tenant, token_hash, user_id, expires, extra)
        SELECT 'many', sha256(n::text::bytea), (n % 300)::text, now(), '{}' FROM generate_series(1, 30000) n`)
    }
    if (target !== "sqlite")
      await tables.query(`${target === "postgres" ? "VACUUM ANALYZE" : "ANALYZE TABLE"} sessions`)
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })

  /** What the database says of how it runs a statement, as one text. */
  async function explained([statement, cells]: [string, Cell[]]): Promise<string> {
    const run = (sql: string, values: Cell[] = []) =>
      database.statements({}, (sql_) => sql_.read(plainSql(sql), values))
    if (target !== "postgres") {
      const explain = { mysql: "EXPLAIN FORMAT=TRADITIONAL", mariadb: "EXPLAIN", sqlite: "EXPLAIN QUERY PLAN" }[target]
      return String(await run(`${explain} ${statement}`, cells))
    }
    const literal = (cell: Cell) => {
      if (Buffer.isBuffer(cell)) return `'\\x${cell.toString("hex")}'`
      return `'${(cell instanceof Date ? cell.toISOString() : String(cell)).replaceAll("'", "''")}'`
    }
    await run(`PREPARE explained AS ${statement}`)
    const rows = await run(`EXPLAIN EXECUTE explained(${cells.map(literal).join(", ")})`)
    await run("DEALLOCATE explained")
    return String(rows)
  }

  const now = Date.now()
  test.each<[string, (store: Store) => Promise<unknown>, string]>([
    ["list", (store) => store.sessions.list(many, { userId: "0" }, { size: 5 }), "sessions_user_id"],
    [
      "list, filtered",
      (store) =>
        store.sessions.list(
          many,
          { userId: "0", active: true, provider: "p", createdSince: new Date(now - 86_400_000) },
          { size: 5 },
        ),
      "sessions_user_id",
    ],
    ["get", (store) => store.sessions.get(many, id), "sessions_id"],
    ["revokeOfUser", (store) => store.sessions.revokeOfUser(many, "0", {}), "sessions_user_id"],
    ["revokeOfUser but one", (store) => store.sessions.revokeOfUser(many, "0", { id }), "sessions_(user_)?id"],
    [
      "revokeOfUser but one by its token",
      (store) => store.sessions.revokeOfUser(many, "0", { sessionToken: "t" }),
      "sessions_user_id",
    ],
    ["revokeOfUsers", (store) => store.sessions.revokeOfUsers(many, ["0", "1"]), "sessions_user_id"],
  ])(
    "%s is one statement that finds its rows by an index, in their order but on PostgreSQL",
    async (_, call, index) => {
      recorded.length = 0
      await call(recordingStore())
      expect(recorded).toHaveLength(1)
      const plan = await explained(recorded[0] as [string, Cell[]])
      expect(plan).toMatch(new RegExp(`\\b${index}\\b`))
      // PostgreSQL sorts what it finds of a user by the index, where users have few on the average.
      expect(plan).not.toMatch(/filesort|TEMP B-TREE|Seq Scan|SCAN|\bALL\b|,index,/)
    },
  )
})
