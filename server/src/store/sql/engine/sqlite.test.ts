import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"
import { longestTurnMs, openSqliteEngine } from "./sqlite.js"

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

  test("that cannot be created is reported", async () => {
    const tooLong = join(folder, "a".repeat(300))
    await expect(openSqliteEngine(tooLong)).rejects.toMatchObject({ failure: "unavailable" })
  })
})

test("units of work that keep a turn of the event loop busy leave the next unit to a later turn", async () => {
  const engine = await openSqliteEngine(":memory:")
  try {
    let isLater = false
    await engine.connect()
    setImmediate(() => {
      isLater = true
    })
    const until = performance.now() + longestTurnMs
    while (performance.now() < until);
    await engine.connect()
    expect(isLater).toBe(true)
  } finally {
    await engine.close()
  }
})
