import { execFileSync } from "node:child_process"
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { fileProblemOf } from "../../../errors/refusal.js"
import { longestTurnMs } from "../../../util/turn-limit.js"
import { openDatabase } from "../open.js"
import { openSqliteEngine } from "./sqlite.js"
import { SqliteDatabase } from "./sqlite-driver.js"

describe("a database file", () => {
  let folder: string
  let umask: number
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "authwire-sqlite-"))
    umask = process.umask(0o022)
  })
  afterEach(() => {
    process.umask(umask)
    rmSync(folder, { recursive: true })
  })

  /** Writes to a database, and returns the modes of its files while it is open. */
  async function modesOf(path: string, of = folder): Promise<Record<string, string>> {
    const engine = await openSqliteEngine(path)
    try {
      await (await engine.connect()).run("CREATE TABLE IF NOT EXISTS t (a)")
      return Object.fromEntries(
        readdirSync(of).map((name) => [name, (statSync(join(of, name)).mode & 0o777).toString(8)]),
      )
    } finally {
      await engine.close()
    }
  }

  test("that is a pipe is refused, and not waited for", async () => {
    const pipe = join(folder, "pipe")
    execFileSync("mkfifo", [pipe])
    for (const readOnly of [false, true])
      await expect(openSqliteEngine(pipe, { readOnly })).rejects.toThrow("it is a pipe, not a file")
  })

  test("that does not exist is created for its owner only, with the files next to it", async () => {
    const modes = { "a.db": "600", "a.db-shm": "600", "a.db-wal": "600" }
    expect(await modesOf(join(folder, "a.db"))).toEqual(modes)
    expect(await modesOf(join(folder, "a.db"))).toEqual(modes)
    const below = join(folder, "b", "c")
    expect(await modesOf(join(below, "a.db"), below)).toEqual(modes)
  })

  test("at the end of a symbolic link is created for its owner only", async () => {
    symlinkSync(join(folder, "a.db"), join(folder, "link"))
    expect(await modesOf(join(folder, "link"))).toMatchObject({ "a.db": "600" })
  })

  test("that exists keeps its mode", async () => {
    const path = join(folder, "a.db")
    writeFileSync(path, "")
    chmodSync(path, 0o640)
    expect(await modesOf(path)).toEqual({ "a.db": "640", "a.db-shm": "640", "a.db-wal": "640" })
  })

  /** Creates a database with this journal, and returns its path. */
  function prepared(journal: "DELETE" | "WAL"): string {
    const path = join(folder, "a.db")
    const database = new SqliteDatabase(path)
    database.pragma(`journal_mode = ${journal}`)
    database.exec("CREATE TABLE t (a)")
    database.close()
    return path
  }

  test("that is only read keeps its bytes and its journal, and rejects writes", async () => {
    const path = prepared("DELETE")
    const before = readFileSync(path)
    const engine = await openSqliteEngine(path, { readOnly: true })
    const connection = await engine.connect()
    expect((await connection.run("SELECT count(*) FROM t", [])).rows).toEqual([[0]])
    for (const sql of ["INSERT INTO t VALUES (1)", "CREATE TABLE u (a)", "PRAGMA journal_mode = WAL"]) {
      await expect(connection.run(sql)).rejects.toMatchObject({ failure: "read-only" })
    }
    await engine.close()
    expect(readFileSync(path)).toEqual(before)
    expect(readdirSync(folder)).toEqual(["a.db"])
    const missing = openSqliteEngine(join(folder, "b", "b.db"), { readOnly: true })
    await expect(missing).rejects.toMatchObject({ failure: "unavailable" })
    expect(readdirSync(folder)).toEqual(["a.db"])
  })

  test("returns integers as numbers, also those that a number cannot represent exactly, and bytes as a Buffer", async () => {
    const engine = await openSqliteEngine(":memory:")
    const connection = await engine.connect()
    const rows = async (sql: string) => (await connection.run(sql, [])).rows
    expect(await rows("SELECT 9007199254740993, 1, NULL")).toEqual([[9007199254740992, 1, null]])
    expect(await rows("SELECT X'00FF', 1")).toEqual([[Buffer.from([0, 255]), 1]])
    await engine.close()
  })

  /** Runs work as a user who may read the folder and not write it. Root may write everything. */
  async function asReader<T>(work: () => Promise<T>): Promise<T> {
    const isRoot = process.geteuid?.() === 0
    try {
      chmodSync(folder, 0o555)
      if (isRoot) process.seteuid?.(65_534)
      return await work()
    } finally {
      if (isRoot) process.seteuid?.(0)
      chmodSync(folder, 0o755)
    }
  }

  test.each([
    ["that nobody may write", "DELETE", 0o444, false, "the file or its folder cannot be written"],
    ["with a write-ahead log in a folder that cannot be written", "WAL", 0o444, true, "even to read it"],
    ["that cannot be read", "DELETE", 0o000, true, "the file, or one next to it, cannot be opened"],
  ] as const)("%s is reported in words", async (_, journal, mode, readOnly, words) => {
    const path = prepared(journal)
    for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true })
    chmodSync(path, mode)
    const problem = await asReader(() => openSqliteEngine(path, { readOnly }).catch(fileProblemOf))
    expect(problem).toContain(words)
  })

  test("that is no database is reported in words", async () => {
    const path = join(folder, "a.db")
    writeFileSync(path, "an application's own file\n".repeat(100))
    const problem = await openSqliteEngine(path, { readOnly: true }).catch(fileProblemOf)
    expect(problem).toBe("the file is not a database of SQLite")
  })

  test("that cannot be created is reported", async () => {
    const tooLong = join(folder, "a".repeat(300))
    await expect(openSqliteEngine(tooLong)).rejects.toMatchObject({ failure: "unavailable" })
  })
})

test("units of work whose statements keep a turn of the event loop busy leave the next unit to a later turn", async () => {
  const database = await openDatabase({ url: "sqlite::memory:" })
  const long = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 200000) SELECT count(*) FROM t"
  const read = () => database.reads({}).read({ sql: long, cells: () => [] }, {})
  try {
    let isLater = false
    const reading = read()
    setImmediate(() => {
      isLater = true
    })
    await Promise.all([reading, read()])
    expect(isLater).toBe(true)
  } finally {
    await database.close()
  }
})

test("short units of work do not wait for a long piece of other work each", async () => {
  const database = await openDatabase({ url: "sqlite::memory:" })
  // Only the other work takes time, so that a machine that stands still for a moment does not end a turn.
  let now = performance.now()
  jest.spyOn(performance, "now").mockImplementation(() => now)
  const done: string[] = []
  const read = async () => {
    await database.reads({}).read({ sql: "SELECT 1", cells: () => [] }, {})
    done.push("read")
  }
  const busy = async (tenant: string) => {
    await database.turn(tenant)
    now += longestTurnMs
    done.push("other work")
  }
  try {
    const others = Array.from({ length: 10 }, (_, tenant) => busy(String(tenant)))
    await Promise.all([...others, ...Array.from({ length: 8 }, read)])
    const before = done.slice(0, done.lastIndexOf("read")).filter((one) => one === "other work")
    expect(before.length).toBeLessThanOrEqual(4)
  } finally {
    jest.restoreAllMocks()
    await database.close()
  }
})

test("a read aside never runs within the transaction of another unit of work, which has the same connection", async () => {
  const database = await openDatabase({ url: "sqlite::memory:" })
  const count = { sql: "SELECT count(*) FROM t", cells: () => [] }
  const insert = { sql: "INSERT INTO t VALUES (1)", cells: () => [] }
  const seen = new Set<unknown>()
  const call = async () => {
    const [[rows] = []] = await database.readAside({}, count, {})
    seen.add(rows)
    const writing = database.write({}, [], async (sql) => {
      await sql.write(insert, {})
      await sql.read(count, {})
      throw new Error("what was written is rolled back")
    })
    await expect(writing).rejects.toThrow("rolled back")
  }
  try {
    await database.withQueryRunner((runner) => runner.query("CREATE TABLE t (a INTEGER)"))
    for (let round = 0; round < 20; round++) {
      await new Promise(setImmediate)
      await Promise.all(Array.from({ length: 8 }, call))
    }
    expect([...seen]).toEqual([0])
  } finally {
    await database.close()
  }
})

test("work on answers leaves the next unit of work to a later turn too", async () => {
  const database = await openDatabase({ url: "sqlite::memory:" })
  try {
    let isLater = false
    await database.turn("")
    setImmediate(() => {
      isLater = true
    })
    const until = performance.now() + longestTurnMs
    while (performance.now() < until);
    await database.reads({}).read({ sql: "SELECT 1", cells: () => [] }, {})
    expect(isLater).toBe(true)
  } finally {
    await database.close()
  }
})
