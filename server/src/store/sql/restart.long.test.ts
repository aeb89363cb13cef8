import {
  createDatabaseOn,
  describeServers,
  ownServers,
  type PrivateServer,
  startPrivateDatabase,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { createUser, endConnections } from "@authwire/test-support/databases/server-sql.js"
import {
  anyone,
  encryptionKeys,
  newId,
  newSession,
  newUser,
  range,
} from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { applyMigrations, openSqlStore, type SqlStore } from "./index.js"

const unavailable = { name: "StoreError", reason: "DATABASE_UNAVAILABLE" }

describeServers(
  "a server of %s of our own",
  (engine) => {
    let server: PrivateServer
    let database: TestDatabase
    let store: SqlStore
    let retries = 0
    const users = range(20).map((n) => newUser({ name: String(n) }))
    const [user] = users as [(typeof users)[0]]
    const password = "p@ss:w/ö?rd#%"
    const isPostgres = engine === "postgres"
    let url: string

    /** Reads the names of all users, each by its own statement, over all connections. */
    const readAll = (from = store) =>
      Promise.all(
        users.map(async ({ id }) => {
          const [[found] = []] = await from.database
            .reads({})
            .read(plainSql("SELECT name FROM users WHERE id = ?", engine), [id])
          return found
        }),
      )
    const names = users.map(({ name }) => name)

    /** On PostgreSQL the setting applies only to new connections. */
    const setReadOnly = async (isReadOnly: boolean) => {
      if (!isPostgres) return void (await database.query(`SET GLOBAL read_only = ${isReadOnly ? 1 : 0}`))
      const name = new URL(database.url).pathname.slice(1)
      await database.query("SET default_transaction_read_only = off")
      await database.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${isReadOnly ? "on" : "off"}`)
      await endConnections(database)
    }

    beforeAll(async () => {
      const started = await startPrivateDatabase(engine)
      if (started === null) throw new Error(`no ${engine}`)
      server = started
      database = await createDatabaseOn(server)
      if (isPostgres) {
        await database.query("ALTER SYSTEM SET timezone = 'Asia/Kathmandu'")
        await database.query("SELECT pg_reload_conf()")
      } else await database.query("SET GLOBAL time_zone = '+05:45'")
      url = await createUser(database, "auth wire", password)
      store = await openSqlStore({ encryptionKeys, url, poolSize: 5, onRetry: () => retries++ })
      await applyMigrations(store.database)
      for (const each of users) await store.users.create(anyone, each)
    })
    afterAll(async () => {
      await store?.close()
      await server?.remove()
    })

    test("times are UTC whatever its time zone", async () => {
      const emailVerified = new Date("2024-06-01T12:34:56.789Z")
      const { id } = await store.users.create(anyone, newUser({ emailVerified }))
      expect(await store.users.get(anyone, id)).toMatchObject({ emailVerified })
      // The stored time as text, in UTC.
      const text = isPostgres ? "CAST(email_verified AS text)" : "CAST(email_verified AS CHAR)"
      const rows = await database.query(`SELECT ${text} AS text FROM users WHERE id = ?`, [id])
      expect(rows).toEqual([{ text: `2024-06-01 12:34:56.789${isPostgres ? "+00" : ""}` }])
    })

    test("every connection has the settings that the store relies on", async () => {
      if (isPostgres) {
        const names = ["default_transaction_isolation", "timezone", "statement_timeout", "lock_timeout"]
        const others = ["idle_in_transaction_session_timeout", "plan_cache_mode", "application_name"]
        const values = [...names, ...others].map((name) => `current_setting('${name}')`).join(", ")
        const sql = `SELECT pg_backend_pid(), ${values}, pg_sleep(0.05)`
        const rows = await Promise.all(range(5).map(() => store.database.reads({}).read(plainSql(sql), [])))
        expect(new Set(rows.map(([row]) => row?.[0])).size).toBe(5)
        for (const [row] of rows) {
          const settings = ["read committed", "UTC", "5s", "1s", "10s", "force_generic_plan", "authwire"]
          expect(row?.slice(1, -1)).toEqual(settings)
        }
        return
      }
      const isolation = engine === "mysql" ? "@@transaction_isolation" : "@@tx_isolation"
      const limit = engine === "mysql" ? "@@max_execution_time" : "@@max_statement_time * 1000"
      const sql = `SELECT CONNECTION_ID(), ${isolation}, @@time_zone, @@sql_mode, @@innodb_lock_wait_timeout + 0e0, ${limit} + 0e0, SLEEP(0.05)`
      const rows = await Promise.all(range(5).map(() => store.database.reads({}).read(plainSql(sql), [])))
      expect(new Set(rows.map(([row]) => row?.[0])).size).toBe(5)
      for (const [row] of rows) {
        expect(row?.slice(1, 3)).toEqual(["READ-COMMITTED", "+00:00"])
        expect(row?.[3]).toContain("STRICT_ALL_TABLES")
        expect(row?.slice(4, 6)).toEqual([1, 5000])
      }
    })

    if (!isPostgres) {
      test.each([
        ["autocommit", 0, 1],
        ["completion_type", 1, 0],
        ["foreign_key_checks", 0, 1],
      ])(
        "has %s = %i by default: what is acknowledged is committed, and a session has a user",
        async (name, value, usual) => {
          const fresh = await createDatabaseOn(server)
          await database.query(`SET GLOBAL ${name} = ${value}`)
          try {
            const other = await openSqlStore({ encryptionKeys, url: fresh.url, poolSize: 1 })
            try {
              const applied = await applyMigrations(other.database)
              // A transaction between two writes without one.
              await other.users.create(anyone, user)
              await other.users.update(anyone, user.id, { name: "new" })
              await other.users.create(anyone, newUser({ name: "last" }))
              const orphan = other.sessions.create(anyone, newSession(newId(), Date.now()))
              await expect(orphan).rejects.toMatchObject({ reason: "USER_NOT_FOUND" })
              const names = await fresh.query("SELECT name FROM users ORDER BY name")
              expect(names).toEqual([{ name: "last" }, { name: "new" }])
              expect(await fresh.query("SELECT name FROM authwire_migrations")).toHaveLength(applied.length)
            } finally {
              await other.close()
            }
          } finally {
            await database.query(`SET GLOBAL ${name} = ${usual}`)
            await fresh.drop()
          }
        },
      )
    }

    test("restarts while the store is idle: later reads and writes succeed", async () => {
      await readAll()
      await server.kill()
      await server.start()
      expect(await readAll()).toEqual(names)
      const created = range(10).map(() => newUser())
      await Promise.all(created.map((each) => store.users.create(anyone, each)))
      await store.ping({})
    })

    test("dies during writes: DATABASE_UNAVAILABLE until it is back, and acknowledged writes are kept", async () => {
      const confirmed: string[] = []
      const reasons = new Set<string>()
      let writing = true
      const writers = range(5).map(async () => {
        while (writing) {
          const each = newUser()
          await store.users.create(anyone, each).then(
            () => confirmed.push(each.id),
            (error) => reasons.add(error.reason),
          )
          // A pause, because calls that fail at once would occupy the process.
          await new Promise((resolve) => setTimeout(resolve, 1))
        }
      })
      await until(() => confirmed.length > 10)
      await server.kill()
      await expect(store.users.get(anyone, user.id)).rejects.toMatchObject(unavailable)
      await expect(store.ping({})).rejects.toMatchObject(unavailable)
      await server.start()
      await store.ping({})
      expect(await readAll()).toEqual(names)
      writing = false
      await Promise.all(writers)
      expect([...reasons]).toEqual(["DATABASE_UNAVAILABLE"])
      const rows = await database.query("SELECT id FROM users")
      expect(rows.map(({ id }) => String(id))).toEqual(expect.arrayContaining(confirmed))
    })

    test("is read-only for a while: reads succeed, writes fail with DATABASE_UNAVAILABLE and are not retried", async () => {
      const created = newUser()
      retries = 0
      await setReadOnly(true)
      expect(await store.users.get(anyone, user.id)).toEqual(user)
      const rejected = { ...unavailable, cause: { message: expect.stringMatching(/read-only/) } }
      await expect(store.ping({})).rejects.toMatchObject(rejected)
      for (const write of [
        () => store.users.create(anyone, created),
        () => store.users.update(anyone, user.id, { name: "x" }),
        () => store.users.delete(anyone, user.id),
      ]) {
        await expect(write()).rejects.toMatchObject(rejected)
      }
      expect(retries).toBe(0)
      await setReadOnly(false)
      await store.ping({})
      expect(await database.query("SELECT id FROM users WHERE id = ?", [created.id])).toEqual([])
      expect(await store.users.get(anyone, user.id)).toEqual(user)
      await store.users.create(anyone, created)
    })

    const sleep = isPostgres ? "SELECT pg_sleep(0.3)" : "SELECT SLEEP(0.3)"
    /** Makes 20 calls at once of a process that may open no more connections than it has, or none. Returns the errors. */
    const failuresWhile = async (close: string, open: string): Promise<unknown[]> => {
      const other = await openSqlStore({ encryptionKeys, url, poolSize: 20 })
      try {
        await database.query(close)
        const calls = range(20).map(() => other.database.reads({}).read(plainSql(sleep), []))
        const ends = await Promise.allSettled(calls)
        await database.query(open)
        expect(await readAll(other)).toEqual(names)
        return ends.filter((end) => end.status === "rejected").map(({ reason }) => reason)
      } finally {
        await other.close()
      }
    }

    test("has no connection left: calls wait for those that the process has", async () => {
      const failures = isPostgres
        ? failuresWhile('ALTER ROLE "auth wire" CONNECTION LIMIT 10', 'ALTER ROLE "auth wire" CONNECTION LIMIT -1')
        : failuresWhile("SET GLOBAL max_connections = 10", "SET GLOBAL max_connections = 400")
      expect(await failures).toEqual([])
    })

    test("has locked us out: DATABASE_UNAVAILABLE for new connections, until it accepts them again", async () => {
      const failures = await (isPostgres
        ? failuresWhile('ALTER ROLE "auth wire" NOLOGIN', 'ALTER ROLE "auth wire" LOGIN')
        : failuresWhile("ALTER USER 'auth wire'@'%' ACCOUNT LOCK", "ALTER USER 'auth wire'@'%' ACCOUNT UNLOCK"))
      expect(failures.length).toBeGreaterThan(5)
      expect(failures.length).toBeLessThan(20)
      for (const failure of failures) expect(failure).toMatchObject(unavailable)
    })
  },
  ownServers(),
)
