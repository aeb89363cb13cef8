import { setImmediate as nextTurn } from "node:timers/promises"
import { afterEach, expect, jest, test } from "@jest/globals"
import type { SqlEngine } from "../engine/engine.js"
import type { Participant } from "./group-commit.js"
import { backoff } from "./retry.js"
import { unitsOfWork } from "./unit-of-work.js"

/** Units of work on simulated connections. A statement that begins with "wait" takes until the test answers it. */
function simulated() {
  // Time stands still, so that no further transaction begins because work has waited long.
  jest.useFakeTimers({ doNotFake: ["setImmediate"] })
  const ran: string[] = []
  const answers = new Map<string, () => void>()
  const run = async (sql: string) => {
    ran.push(sql)
    if (sql.startsWith("wait")) await new Promise<void>((resolve) => answers.set(sql, resolve))
    return { rows: [], matched: 1 }
  }
  const engine = {
    connect: async () => ({ reused: false, run, release() {}, discard() {} }),
    ...{ engine: "mysql", concurrency: 10, begin: "BEGIN", locksRows: true, hasOtherMembers: false },
    lookups: { limit: 16, ahead: 2 },
  } as unknown as SqlEngine
  const units = unitsOfWork(engine, { queueLimit: 100, backoff: backoff({ random: () => 0, limit: 100 }) })
  return {
    ...{ ran, units },
    answer: (sql: string) => answers.get(sql)?.(),
    /** Waits until everything that can continue has done so. */
    settle: async () => {
      for (let turn = 0; turn < 10; turn++) await nextTurn()
    },
    joint: (row: string, statements: (participant: Participant) => Promise<unknown>, signal?: AbortSignal) =>
      units.runJoint({ rows: [row], signal }, async (join) => {
        const participant = await join([], () => {})
        await statements(participant)
        await participant.commit()
      }),
  }
}

afterEach(() => {
  jest.useRealTimers()
})

test("a caller that gives up does not wait for the others in its transaction, and its row stays locked until that ends", async () => {
  const { ran, units, answer, settle, joint } = simulated()
  const leaving = new AbortController()
  const gone = new Error("gone")
  const first = joint("a", (participant) => participant.write("wait a", []))
  const given = joint(
    "b",
    async (participant) => {
      await participant.read("wait b", [])
      await participant.write("b", [])
    },
    leaving.signal,
  )
  const last = joint("c", (participant) => participant.write("wait c", []))
  let outcome: unknown
  const over = given.catch((error: unknown) => {
    outcome = error
  })
  await settle()
  answer("wait a")
  await settle()
  leaving.abort(gone)
  answer("wait b")
  await settle()
  expect(ran).toEqual(["BEGIN", "wait a", "wait b", "wait c"])
  expect(outcome).toBe(gone)
  const next = units.write({ rows: ["b"] }, (attempt) => attempt(({ connection }) => connection.run("next")))
  await settle()
  expect(ran).not.toContain("next")
  answer("wait c")
  await Promise.all([first, over, last, next])
  expect(ran.slice(4)).toEqual(["COMMIT", "next"])
})
