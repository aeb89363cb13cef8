import { databaseTargets, describeServers, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { anyone, encryptionKeys, newId, newUser, range } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals"
import type { RetryEvent } from "./index.js"
import { openSqlStore, type SqlStore } from "./index.js"

/** The error number, the code that the driver reports, and the name. */
type Failure = [number: number | string, code: string, name: string]

const ofMysql: Record<"conflicts" | "locks" | "outages", Failure[]> = {
  conflicts: [
    [1213, "ER_LOCK_DEADLOCK", "a deadlock"],
    [3101, "ER_TRANSACTION_ROLLBACK_DURING_COMMIT", "a replication group that certified another write"],
    [1180, "ER_ERROR_DURING_COMMIT", "a cluster that certified another write"],
  ],
  locks: [
    [1205, "ER_LOCK_WAIT_TIMEOUT", "a lock that is held too long"],
    [3572, "ER_LOCK_NOWAIT", "a lock that is held now"],
  ],
  outages: [
    [1047, "ER_UNKNOWN_COM_ERROR", "a node of Galera that is not in the primary component"],
    [1053, "ER_SERVER_SHUTDOWN", "a server that shuts down"],
    [1461, "ER_MAX_PREPARED_STMT_COUNT_REACHED", "a server with the most prepared statements that it allows"],
    [3100, "ER_RUN_HOOK_ERROR", "a member that leaves its group during the commit"],
    [3796, "ER_GRP_TRX_CONSISTENCY_NOT_ALLOWED", "a member that is not in its group"],
    [3797, "ER_GRP_TRX_CONSISTENCY_BEFORE", "a member that cannot catch up with its group"],
    [3799, "ER_GRP_TRX_CONSISTENCY_BEGIN_NOT_ALLOWED", "a member that is leaving its group"],
  ],
}

const ofPostgres: typeof ofMysql = {
  conflicts: [
    ["40P01", "40P01", "a deadlock"],
    ["40001", "40001", "a transaction that another one has overtaken"],
  ],
  locks: [["55P03", "55P03", "a lock that is held now, or too long"]],
  outages: [
    ["57P01", "57P01", "a server that shuts down"],
    ["53300", "53300", "a server with the most connections that it allows"],
  ],
}

describeServers("conflicts on %s", (target) => {
  let database: StoreDatabase & TestDatabase
  let store: SqlStore
  const retries: RetryEvent[] = []
  let onRetry = async () => {}
  /** The part of its bound that a delay before a retry takes. With a larger one the retries last longer. */
  let random = 0.1
  const isPostgres = target === "postgres"
  const { conflicts, locks, outages } = isPostgres ? ofPostgres : ofMysql
  const [[deadlock]] = conflicts as [Failure]

  beforeAll(async () => {
    database = await createStoreDatabase(target)
    if (isPostgres) {
      // PostgreSQL checks for deadlocks after a wait of one second by default, which is the store's lock timeout.
      const name = new URL(database.url).pathname.slice(1)
      await database.query(`ALTER DATABASE ${name} SET deadlock_timeout = '500ms'`)
    }
    store = await openSqlStore({
      encryptionKeys,
      url: database.url,
      random: () => random,
      onRetry(event) {
        retries.push(event)
        void onRetry()
      },
    })
  })
  afterAll(async () => {
    await store.close()
    await database.drop()
  })

  /** Makes every change of the table's rows fail with an error number. */
  async function failing(
    table: string,
    action: "INSERT" | "UPDATE" | "DELETE",
    errno: number | string,
    work: () => Promise<void>,
  ) {
    const statements = isPostgres
      ? [
          `CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             RAISE EXCEPTION 'on purpose' USING ERRCODE = '${errno}';
           END $$`,
          `CREATE TRIGGER failing BEFORE ${action} ON ${table} FOR EACH ROW EXECUTE FUNCTION fail()`,
        ]
      : [
          `CREATE TRIGGER failing BEFORE ${action} ON ${table} FOR EACH ROW
           SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = ${errno}, MESSAGE_TEXT = 'on purpose'`,
        ]
    for (const statement of statements) await database.query(statement)
    retries.length = 0
    try {
      await work()
    } finally {
      await succeeding(table)
      onRetry = async () => {}
      random = 0.1
    }
  }

  /** Reverts `failing`. */
  const succeeding = (table: string) =>
    database.query(`DROP TRIGGER IF EXISTS failing${isPostgres ? ` ON ${table}` : ""}`)

  test.each(conflicts)("%s (%s) is attempted 10 times, then CONFLICT, with nothing written", async (errno, code) => {
    const { id } = await store.users.create(anyone, newUser({ name: "before" }))
    const inserted = newUser()
    await failing("users", "INSERT", errno, async () => {
      const conflict = { reason: "CONFLICT", cause: { code } }
      await expect(store.users.create(anyone, inserted)).rejects.toMatchObject(conflict)
    })
    expect(retries.map(({ tries }) => tries)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(retries).toMatchObject(Array(9).fill({ code }))
    await failing("users", "UPDATE", errno, async () => {
      const conflict = { reason: "CONFLICT" }
      await expect(store.users.update(anyone, id, { name: "after" })).rejects.toMatchObject(conflict)
    })
    expect(retries).toHaveLength(9)
    const rows = await database.sql("SELECT id, name FROM users WHERE id IN (?, ?)", [id, inserted.id])
    expect(rows).toEqual([{ id, name: "before" }])
  })

  test.each([...conflicts, ...locks])(
    "%s (%s) of an idempotency key: the whole write is retried, and done once",
    async (errno) => {
      const name = newId()
      const request = { owner: "", key: newId(), digest: () => "" }
      let tries = 0
      const create = () =>
        store.once(anyone, request, async (transaction) => {
          tries++
          const { id } = await store.users.create({ ...anyone, transaction }, newUser({ name }))
          return Buffer.from(id)
        })
      await failing("idempotency_keys", "INSERT", errno, async () => {
        random = 0.99
        onRetry = async () => {
          if (retries.length === 3) await succeeding("idempotency_keys")
        }
        await create()
      })
      expect(tries).toBeGreaterThanOrEqual(4)
      const rows = await database.sql("SELECT id FROM users WHERE name = ?", [name])
      expect(rows).toEqual([{ id: Buffer.from(await create()).toString() }])
    },
  )

  test.each(locks)("%s (%s) is retried until the caller aborts, with nothing written", async (errno, code) => {
    const { id } = await store.users.create(anyone, newUser({ name: "before" }))
    const inserted = newUser()
    const gone = new Error("the caller is gone")
    const leavingAfter = (tries: number) => {
      const leaving = new AbortController()
      retries.length = 0
      onRetry = async () => {
        if (retries.length === tries) leaving.abort(gone)
      }
      return { ...anyone, signal: leaving.signal }
    }
    await failing("users", "INSERT", errno, async () => {
      await expect(store.users.create(leavingAfter(15), inserted)).rejects.toBe(gone)
      expect(retries).toMatchObject(range(15).map((n) => ({ tries: n + 1, code })))
    })
    await failing("users", "UPDATE", errno, async () => {
      await expect(store.users.update(leavingAfter(15), id, { name: "after" })).rejects.toBe(gone)
      expect(retries).toHaveLength(15)
    })
    const rows = await database.sql("SELECT id, name FROM users WHERE id IN (?, ?)", [id, inserted.id])
    expect(rows).toEqual([{ id, name: "before" }])
  })

  test.each(outages)("%s (%s) is DATABASE_UNAVAILABLE at once, with nothing written", async (errno) => {
    const created = newUser()
    await failing("users", "INSERT", errno, async () => {
      await expect(store.users.create(anyone, created)).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    })
    expect(retries).toEqual([])
    expect(await database.sql("SELECT id FROM users WHERE id = ?", [created.id])).toEqual([])
    expect(await store.users.create(anyone, created)).toEqual(created)
  })

  test("the delays are random below a bound that doubles up to half a second", async () => {
    await failing("users", "INSERT", deadlock, async () => {
      await expect(store.users.create(anyone, newUser())).rejects.toMatchObject({ reason: "CONFLICT" })
    })
    const bounds = [4, 8, 16, 32, 64, 128, 256, 500, 500]
    expect(retries.map(({ delayMs }) => Math.round(delayMs * 100) / 100)).toEqual(bounds.map((bound) => bound / 10))
  })

  test("once the conflicts end, the write is done as a whole", async () => {
    const { id } = await store.users.create(anyone, newUser())
    const sessionToken = newId()
    await store.sessions.create(anyone, { sessionToken, userId: id, expires: new Date(), extra: {} })
    await failing("users", "DELETE", deadlock, async () => {
      random = 0.99
      // By then the sessions are deleted. Each retry deletes them again.
      onRetry = async () => {
        if (retries.length === 3) await succeeding("users")
      }
      expect(await store.users.delete(anyone, id)).toMatchObject({ id })
    })
    expect(retries.length).toBeGreaterThanOrEqual(3)
    expect(await database.sql("SELECT id FROM users WHERE id = ?", [id])).toEqual([])
    expect(await database.sql("SELECT user_id FROM sessions WHERE user_id = ?", [id])).toEqual([])
  })

  test("a write succeeds after a real deadlock", async () => {
    const { id } = await store.users.create(anyone, newUser())
    const sessionToken = newId()
    await store.sessions.create(anyone, { sessionToken, userId: id, expires: new Date(), extra: {} })
    retries.length = 0
    await database.query("BEGIN")
    // Many changed rows make the other transaction more expensive, so that the server rolls back the store's. On PostgreSQL that is the one
    // that looks for a deadlock first.
    if (isPostgres) await database.query("SET LOCAL deadlock_timeout = '1min'")
    for (let n = 0; n < 20; n++)
      await database.query("INSERT INTO users (tenant, id, extra) VALUES ('default', ?, '{}')", [newId()])
    await database.query("UPDATE sessions SET extra = '{}', expires = NOW() WHERE user_id = ?", [id])
    const met = database.lockMet()
    const deleting = store.users.delete(anyone, id)
    await met
    await database.query("UPDATE users SET name = 'x' WHERE id = ?", [id])
    await database.query("COMMIT")
    expect(await deleting).toMatchObject({ id, name: "x" })
    // Later attempts may run before the other transaction has ended. MySQL has given it the lock by then. PostgreSQL only wakes it, so that
    // an attempt may lock the row first, and meet the same deadlock again.
    const [first, ...others] = retries.map(({ code }) => code)
    expect(first).toBe(isPostgres ? "40P01" : "ER_LOCK_DEADLOCK")
    for (const code of others) expect(code).toMatch(isPostgres ? /^(40P01|55P03)$/ : /^ER_LOCK_(NOWAIT|WAIT_TIMEOUT)$/)
    expect(await database.sql("SELECT id FROM users WHERE id = ?", [id])).toEqual([])
  })

  test("a transaction that continues after a failed statement is not reported as committed", async () => {
    const { users } = store.database.tables
    const now = new Date()
    const row = { tenant: "default", id: newId(), extra: {}, created: now, updated: now }
    const twice = store.database.write({}, [], async (sql) => {
      await sql.write(users.insert, row)
      await sql.write(users.insert, row).catch(() => {})
    })
    await expect(twice).rejects.toMatchObject({ failure: "fault", message: expect.stringContaining("rolled back") })
    expect(await database.sql("SELECT id FROM users WHERE id = ?", [row.id])).toEqual([])
  })

  test("other failures are not retried, and their errors quote no values", async () => {
    const user = newUser({ name: "secret" })
    const code = isPostgres ? "22001" : "ER_DATA_TOO_LONG"
    const exact = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL"
    await database.query("UPDATE users SET name = NULL")
    const shorten = isPostgres ? "ALTER name TYPE varchar(3)" : `MODIFY name VARCHAR(3) ${exact}`
    await database.query(`ALTER TABLE users ${shorten}`)
    retries.length = 0
    const error: Error = await store.users.create(anyone, user).then(
      () => new Error("created"),
      (error) => error,
    )
    expect(error).toMatchObject({ name: "StatementError", failure: "fault", code })
    expect(`${error.message} ${JSON.stringify(error)}`).not.toContain("secret")
    expect(retries).toEqual([])
    expect(await database.sql("SELECT id FROM users WHERE id = ?", [user.id])).toEqual([])
    const wide = isPostgres ? 'ALTER name TYPE text COLLATE "C"' : `MODIFY name TEXT ${exact}`
    await database.query(`ALTER TABLE users ${wide}`)
  })
})

if (databaseTargets().includes("sqlite")) {
  test("on SQLite a write waits for a held lock, 10 s without a signal; the next write succeeds and is kept", async () => {
    const database = await createStoreDatabase("sqlite")
    // The clock advances by half a second at each retry, from a whole number, so that the sums are exact.
    const start = Math.ceil(performance.now())
    let retried = 0
    const onRetry = () => void retried++
    const clock = jest.spyOn(performance, "now").mockImplementation(() => start + retried * 500)
    const store = await openSqlStore({ encryptionKeys, url: database.url, onRetry, random: () => 0 })
    const [rejected, transacted, kept] = [newUser(), newUser(), newUser()]
    await store.users.create(anyone, transacted)
    await database.query("BEGIN IMMEDIATE")
    await expect(store.users.create(anyone, rejected)).rejects.toMatchObject({ reason: "CONFLICT" })
    expect(retried).toBe(20)
    clock.mockRestore()
    const signal = AbortSignal.timeout(1000)
    const given = store.users.update({ ...anyone, signal }, transacted.id, { name: "x" })
    await expect(given).rejects.toMatchObject({ name: "TimeoutError" })
    await database.query("COMMIT")
    await store.users.create(anyone, kept)
    await store.close()
    const rows = await database.sql("SELECT id, name FROM users ORDER BY rowid")
    expect(rows).toEqual([
      { id: transacted.id, name: null },
      { id: kept.id, name: null },
    ])
    await database.drop()
  })
}
