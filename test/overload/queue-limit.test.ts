import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

/** All callers of this test share one owner, which alone has a third of the places. */
const limit = 15
const places = limit / 3

// Calls that wait to write a row do not count as active calls, so only this limit bounds their number.
const target = serviceDatabase()

describe("--database-queue-limit", () => {
  let authwire: Authwire
  beforeAll(async () => {
    authwire = await startAuthwire(target, [`--database-queue-limit=${limit}`])
  })
  afterAll(() => authwire?.close())

  test("writers that wait for a locked row are rejected beyond the limit, and the others are answered", async () => {
    const { adapter, database } = authwire
    const { id } = await adapter.createUser({ id: crypto.randomUUID(), email: "", emailVerified: null })
    await database.query(target === "sqlite" ? "BEGIN IMMEDIATE" : "BEGIN")
    const lock = "SELECT id FROM users WHERE tenant = 'default' AND id = ?"
    await database.query(target === "sqlite" ? lock : `${lock} FOR UPDATE`, [id])
    const reasons: string[] = []
    const writing = Array.from({ length: 20 }, (_, n) =>
      adapter.updateUser({ id, name: String(n) }).then(
        () => "written",
        (error) => void reasons.push(error.reason),
      ),
    )
    // One of them is executing and waits for the lock.
    while (reasons.length < 20 - places - 1) await new Promise((resolve) => setImmediate(resolve))
    expect(await adapter.getUser(id)).toMatchObject({ id })
    await database.query("COMMIT")
    expect((await Promise.all(writing)).filter((end) => end === "written")).toHaveLength(places + 1)
    expect(new Set(reasons)).toEqual(new Set(["QUEUE_FULL"]))
  })
})
