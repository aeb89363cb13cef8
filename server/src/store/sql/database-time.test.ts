import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { anyone, day, newSession, newUser } from "@authwire/test-support/store-contract/context.js"
import { describe, expect, jest, test } from "@jest/globals"
import { databaseTime } from "./database-time.js"

const later = endsAfterEach()

describe("the time of a database", () => {
  /** A process whose clocks are in the hands of the test. The database's is 1,000,000 ms ahead of the monotonic one. */
  function processAt(wallMs: number) {
    const clocks = { monotonic: 500, wall: wallMs, databaseAhead: 1_000_000 }
    const pass = (ms: number) => {
      clocks.monotonic += ms
      clocks.wall += ms
    }
    const time = databaseTime(
      () => clocks.monotonic,
      () => clocks.wall,
    )
    return {
      time,
      clocks,
      pass,
      /** Reads the database's clock. The answer takes as long as the question. */
      read: (ms: number) =>
        time.synchronize(async () => {
          pass(ms)
          const read = new Date(clocks.databaseAhead + clocks.monotonic)
          pass(ms)
          return read
        }),
      error: () => time.now() - (clocks.databaseAhead + clocks.monotonic),
    }
  }

  test.each([400 * day, -400 * day])("does not depend on the clock of a process that is off by %d ms", async (off) => {
    const { time, clocks, pass, read, error } = processAt(1_000_500 + off)
    expect([time.now(), time.clockOffsetMs()]).toEqual([1_000_500 + off, 0])
    await read(2)
    pass(10_000)
    expect(Math.abs(error())).toBeLessThan(4)
    expect(Math.abs(time.clockOffsetMs() - off)).toBeLessThan(4)
    clocks.wall -= off
    expect(Math.abs(error())).toBeLessThan(4)
    expect(Math.abs(time.clockOffsetMs())).toBeLessThan(4)
  })

  test("does not get worse by a slow answer, nor by a failed one", async () => {
    const { time, read, error } = processAt(1_000_500)
    await read(1)
    await read(30_000)
    await expect(time.synchronize(() => Promise.reject(new Error("down")))).rejects.toThrow("down")
    expect(Math.abs(error())).toBeLessThan(3)
  })

  test("follows the database's clock when that is set", async () => {
    const { clocks, read, error } = processAt(1_000_500)
    await read(1)
    clocks.databaseAhead -= 50_000
    await read(1)
    expect(Math.abs(error())).toBeLessThan(3)
  })
})

const longest = 30 * day
const off = [400 * day, -400 * day]

test.each(databaseTargets().flatMap((target) => off.map((ms) => [target, ms] as const)))(
  "on %s a process whose clock is set by %d ms, before or after it opens the store, ends and extends sessions in time",
  async (target, ms) => {
    const database = await createStoreDatabase(target)
    later(() => database.drop())
    const running = await database.openStore()
    const { id } = await running.users.create(anyone, newUser())
    const real = Date.now
    const wall = jest.spyOn(Date, "now").mockImplementation(() => real() + ms)
    later(async () => wall.mockRestore())
    const started = await database.openStore()
    await started.ping({})
    for (const { sessions, now, clockOffsetMs } of [running, started]) {
      expect(Math.abs(now() - real())).toBeLessThan(10_000)
      expect(Math.abs(clockOffsetMs() - ms)).toBeLessThan(10_000)
      const [lasting, expired] = [newSession(id, real() + day), newSession(id, real() - day)]
      for (const session of [lasting, expired]) await sessions.create(anyone, session)
      expect(await sessions.getWithUser(anyone, expired.sessionToken)).toBeNull()
      expect(await sessions.getWithUser(anyone, lasting.sessionToken)).toMatchObject({ session: lasting })
      const extension = { maxAge: longest, updateAge: 0 }
      const found = await sessions.access(anyone, lasting.sessionToken, extension)
      expect(found?.extended).toBe(true)
      expect(Math.abs(Number(found?.session.expires) - real() - longest)).toBeLessThan(10_000)
      expect((await sessions.list(anyone, { userId: id, active: false }, { size: 9 })).items).toEqual([])
    }
  },
)
