import {
  createDatabase,
  serviceDatabase,
  type TestDatabase,
  testOnServer,
} from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { logOf } from "@authwire/test-support/processes/log.js"
import { run, type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"

const day = 86_400_000

/** A time as a parameter of a statement. */
const at = ({ target }: TestDatabase, ms: number) => {
  const moment = new Date(Date.now() + ms)
  return target === "sqlite" ? moment.toISOString().replace("T", " ").replace("Z", "") : moment
}

/** Inserts one session and one verification token per time. Each expires at that time from now, in milliseconds. */
async function fill(database: TestDatabase, times: readonly number[]): Promise<void> {
  await database.query("INSERT INTO users (tenant, id, extra) VALUES ('default', 'u', '{}')")
  for (const [n, ms] of times.entries()) {
    const hash = Buffer.alloc(32, n)
    await database.query(
      "INSERT INTO sessions (tenant, token_hash, user_id, expires, extra) VALUES ('default', ?, 'u', ?, '{}')",
      [hash, at(database, ms)],
    )
    await database.query(
      "INSERT INTO verification_tokens (tenant, identifier, token_hash, expires) VALUES ('default', 'i', ?, ?)",
      [hash, at(database, ms)],
    )
  }
}

/** Returns the remaining rows, by their index in `times`. */
async function left(database: TestDatabase, table: string): Promise<number[]> {
  const rows = await database.query(`SELECT token_hash FROM ${table} ORDER BY token_hash`)
  return rows.map(({ token_hash }) => Buffer.from(token_hash as ArrayBuffer)[0] as number)
}

const holders = async (database: TestDatabase) =>
  (await database.query("SELECT holder FROM leases WHERE name = 'cleanup'")).map(({ holder }) => String(holder))

const times = [-400 * day, -8 * day, -6 * day, -1_000, day]
const metrics = "--metrics-addr=127.0.0.1:0"
const args = ["--cleanup-interval=1s", metrics]

const target = serviceDatabase()

describe("expired rows", () => {
  let database: TestDatabase
  let server: ServerProcess | undefined
  beforeEach(async () => {
    database = await createDatabase(target)
    await migrate(database)
    await fill(database, times)
  })
  afterEach(async () => {
    await server?.stop()
    server = undefined
    await database.drop()
  })

  test("serve deletes rows that expired longer ago than --cleanup-keep, and reports that in log and metrics", async () => {
    server = await startServer({ databaseUrl: database.url, args })
    const log = () => logOf(server as ServerProcess).filter(({ msg }) => msg === "deleted expired rows")
    await until(() => log().length > 0)
    expect(await left(database, "sessions")).toEqual([2, 3, 4])
    expect(await left(database, "verification_tokens")).toEqual([2, 3, 4])
    expect(log()).toMatchObject([{ deleted: { sessions: 2, verification_tokens: 2 } }])
    const metrics = await (await fetch(server.metricsUrl)).text()
    expect(metrics).toContain("authwire_cleanup_lease_held 1")
    expect(metrics).toContain('authwire_cleanup_deleted_rows_total{table="sessions"} 2')
    const [, oldest] = /^authwire_cleanup_oldest_row_seconds\{table="verification_tokens"\} (\S+)$/m.exec(metrics) ?? []
    expect(Math.abs(Number(oldest) - 400 * 86_400)).toBeLessThan(600)
  })

  test("a replica that stops releases the lease", async () => {
    server = await startServer({ databaseUrl: database.url, args })
    await until(async () => (await holders(database)).length === 1)
    expect(await server.stop()).toBe(0)
    expect(await holders(database)).toEqual([])
  })

  test("--cleanup-interval=0: serve deletes no rows, and authwire cleanup does", async () => {
    const cleanup = (...more: string[]) => run(["cleanup", ...more], { AUTHWIRE_DATABASE_URL: database.url })
    server = await startServer({ databaseUrl: database.url, args: ["--cleanup-interval=0"] })
    const first = await cleanup("--older-than=30d", "--batch=1")
    expect(first).toMatchObject({
      code: 0,
      stdout: [
        "sessions: 1",
        "verification_tokens: 1",
        "idempotency_keys: 0",
        "caches: 0",
        "ended_tokens: 0",
        "webhook_deliveries: 0",
        "audit_entries: 0",
        "events: 0",
        "users: 0",
        "",
      ].join(" deleted\n"),
    })
    expect(await left(database, "sessions")).toEqual([1, 2, 3, 4])
    expect(await cleanup("--older-than=0", "--batch=2")).toMatchObject({ code: 0 })
    expect(await left(database, "sessions")).toEqual([4])
    expect(await left(database, "verification_tokens")).toEqual([4])
    expect(await holders(database)).toEqual([])
  })
})

describe("several replicas", () => {
  testOnServer("one of them deletes rows, and when it is killed another takes over", async (_, target) => {
    const database = await createDatabase(target)
    // The lease lasts for two of these intervals, so that its holder keeps it through a pause.
    const start = () => startServer({ databaseUrl: database.url, args: ["--cleanup-interval=4s", metrics] })
    const replicas = await Promise.all([start(), start()])
    const held = async () => {
      const texts = await Promise.all(replicas.map(async ({ metricsUrl }) => (await fetch(metricsUrl)).text()))
      return texts.flatMap((text, replica) => (/^authwire_cleanup_lease_held 1$/m.test(text) ? [replica] : []))
    }
    await until(async () => (await held()).length > 0)
    const [holder] = await holders(database)
    const [replica] = (await held()) as [number]
    await fill(database, times)
    await until(async () => (await left(database, "sessions")).length === 3)
    expect(await held()).toEqual([replica])
    expect(await holders(database)).toEqual([holder])

    await replicas[replica]?.stop("SIGKILL")
    await until(async () => (await holders(database))[0] !== holder)
    await database.query("UPDATE sessions SET expires = ?", [at(database, -9 * day)])
    await until(async () => (await left(database, "sessions")).length === 0)
    for (const server of replicas) await server.stop()
    await database.drop()
  })
})
