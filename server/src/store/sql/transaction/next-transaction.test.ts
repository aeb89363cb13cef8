import { setImmediate as nextTurn } from "node:timers/promises"
import { afterEach, expect, jest, test } from "@jest/globals"
import type { SqlEngine } from "../engine/engine.js"
import { Lease } from "../engine/lease.js"
import type { Change } from "../query/statement.js"
import { StatementError } from "../query/statement-error.js"
import { groupCommit, type Participant, RolledBack } from "./group-commit.js"
import { queue } from "./queue.js"
import { semaphore } from "./semaphore.js"

/**
 * Transactions on simulated connections. The statement "wait", and COMMIT, take until the test answers them, which no database does with a
 * COMMIT. The statement "fail" fails.
 */
function held({ leases = 10 } = {}) {
  // Time stands still, so that no transaction begins because work has waited long, unless the test lets it pass.
  jest.useFakeTimers({ doNotFake: ["setImmediate"] })
  const ran: string[] = []
  const answers = new Map<string, (error?: Error) => void>()
  let connections = 0
  const failure = new StatementError("duplicate", "there is one")
  let connectFails = false
  const connect: SqlEngine["connect"] = async () => {
    if (connectFails) throw failure
    const name = `${++connections}`
    const run = async (sql: string) => {
      ran.push(`${name} ${sql}`)
      if (sql === "fail") throw failure
      if (sql === "wait" || sql === "COMMIT") {
        await new Promise<void>((resolve, reject) => {
          answers.set(`${name} ${sql}`, (error) => (error ? reject(error) : resolve()))
        })
      }
      return { rows: [], matched: 1 }
    }
    return { reused: false, run, release() {}, discard() {} }
  }
  const waiting = queue(100)
  const permits = semaphore(waiting, { permits: leases, writerPermits: leases })
  const groups = groupCommit({ size: { limit: 3, ahead: 1 }, begin: "BEGIN", queue: waiting })
  const acquire = async (): Promise<Lease> => {
    await permits.acquire("write", undefined)
    return new Lease({ connect, engine: "mysql" } as SqlEngine, {}, [], () => permits.release("write"))
  }
  const work = async (
    statements: (participant: Participant) => Promise<unknown>,
    { isExclusive = false, signal }: { isExclusive?: boolean; signal?: AbortSignal } = {},
  ) => {
    const participant = await groups.join({ signal }, acquire, isExclusive)
    try {
      await statements(participant)
      await participant.commit()
    } finally {
      await participant.leave()
    }
  }
  /** Waits until everything that can continue has done so. */
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) await nextTurn()
  }
  const answer = (statement: string, error?: Error) => answers.get(statement)?.(error)
  const write = (sql: string, isExclusive = false) => work((participant) => participant.write(sql, []), { isExclusive })
  return {
    ...{ ran, settle, answer, work, write, failure },
    failToConnect: (fails: boolean) => {
      connectFails = fails
    },
    /** Checks the count of active transactions: as many transactions begin as at first. */
    expectNoneCounted: async () => {
      await settle()
      const from = ran.length
      const begun = () => ran.slice(from).filter((one) => one.endsWith("BEGIN")).length
      const calls = [write("wait")]
      await settle()
      expect(begun()).toBe(1)
      calls.push(write("a"))
      await settle()
      expect(begun()).toBe(1)
      const hurried = write("b")
      const last = connections
      await jest.advanceTimersByTimeAsync(5)
      await settle()
      expect(begun()).toBe(2)
      for (const statement of ["wait", "COMMIT"]) {
        for (const connection of [last, last + 1]) answer(`${connection} ${statement}`)
        await settle()
      }
      await Promise.all([...calls, hurried])
      expect(begun()).toBe(2)
    },
  }
}

afterEach(() => {
  jest.useRealTimers()
})

test("the next transaction begins while the one before it is being committed, and the waiters join it", async () => {
  const { ran, settle, answer, write } = held()
  const first = ["wait", "a", "b"].map((sql) => write(sql))
  const next = ["c", "d"].map((sql) => write(sql))
  await settle()
  expect(ran).toEqual(["1 BEGIN", "1 wait"])
  answer("1 wait")
  await settle()
  expect(ran.slice(2)).toEqual(["1 a", "1 b", "1 COMMIT", "2 BEGIN", "2 c", "2 d", "2 COMMIT"])
  answer("2 COMMIT")
  await Promise.all(next)
  answer("1 COMMIT")
  await Promise.all(first)
})

test("only one begins: work that comes when the one before has been committed still waits", async () => {
  const { ran, settle, answer, write } = held()
  const calls = ["a", "b", "c"].map((sql) => write(sql))
  await settle()
  calls.push(...["wait", "d", "e", "f"].map((sql) => write(sql)))
  await settle()
  answer("1 COMMIT")
  await settle()
  expect(ran.slice(-2)).toEqual(["2 BEGIN", "2 wait"])
  answer("2 wait")
  await settle()
  expect(ran.slice(-6)).toEqual(["2 d", "2 e", "2 COMMIT", "3 BEGIN", "3 f", "3 COMMIT"])
  for (const connection of [2, 3]) answer(`${connection} COMMIT`)
  await Promise.all(calls)
})

test("work that has waited 5 ms begins another transaction, also when earlier waiters were admitted meanwhile; one each 5 ms", async () => {
  const { ran, settle, answer, write } = held()
  const alone = write("alone", true)
  await settle()
  answer("1 COMMIT")
  await alone
  ran.length = 0
  const calls = ["wait", "a", "wait", "wait", "b"].map((sql) => write(sql))
  await settle()
  answer("2 wait")
  await settle()
  expect(ran).toEqual(["2 BEGIN", "2 wait", "2 a", "2 wait"])
  await jest.advanceTimersByTimeAsync(4)
  expect(ran.slice(4)).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  await settle()
  expect(ran.slice(4)).toEqual(["3 BEGIN", "3 wait"])
  await jest.advanceTimersByTimeAsync(4)
  expect(ran.slice(6)).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  await settle()
  expect(ran.slice(6)).toEqual(["4 BEGIN", "4 b", "4 COMMIT"])
  for (const statement of ["2 wait", "3 wait", "4 COMMIT"]) answer(statement)
  await settle()
  for (const connection of [2, 3]) answer(`${connection} COMMIT`)
  await Promise.all(calls)
})

test("an exclusive transaction does not delay shared ones, and its end does not let a further one begin", async () => {
  const { ran, settle, answer, write } = held()
  const calls = [write("wait", true)]
  await settle()
  calls.push(...["wait", "a", "b", "c"].map((sql) => write(sql)))
  await settle()
  expect(ran).toEqual(["1 BEGIN", "1 wait", "2 BEGIN", "2 wait"])
  answer("1 wait")
  await settle()
  answer("1 COMMIT")
  await settle()
  expect(ran.slice(4)).toEqual(["1 COMMIT"])
  answer("2 wait")
  await settle()
  expect(ran.slice(5)).toEqual(["2 a", "2 b", "2 COMMIT", "3 BEGIN", "3 c", "3 COMMIT"])
  for (const connection of [2, 3]) answer(`${connection} COMMIT`)
  await Promise.all(calls)
})

test("while a new transaction waits for a lease, all further work stays in the line", async () => {
  const { ran, settle, answer, write, expectNoneCounted } = held({ leases: 2 })
  const calls = ["wait", "wait"].map((sql) => write(sql, true))
  await settle()
  calls.push(...["a", "b", "c", "d", "e", "f", "g", "h", "i"].map((sql) => write(sql)))
  await jest.advanceTimersByTimeAsync(100)
  await settle()
  expect(ran).toEqual(["1 BEGIN", "2 BEGIN", "1 wait", "2 wait"])
  for (const statement of ["1 wait", "2 wait"]) answer(statement)
  for (let round = 0; round < 3; round++) {
    await settle()
    for (let connection = 1; connection < 20; connection++) answer(`${connection} COMMIT`)
  }
  await Promise.all(calls)
  // Three transactions for nine units of work.
  expect(ran.filter((one) => one.endsWith("COMMIT")).slice(2)).toHaveLength(3)
  await expectNoneCounted()
})

type Held = ReturnType<typeof held>

const change = (sql: string): Change => ({
  ...{ kind: sql, sql, cells: [], rank: 0, mustMatch: false, isIdempotent: false },
  sqlOf: () => sql,
})

test.each<[string, (context: Held) => Promise<unknown>]>([
  [
    "gets no connection",
    async ({ write, failToConnect, failure }) => {
      failToConnect(true)
      const calls = ["a", "b"].map((sql) => expect(write(sql)).rejects.toBe(failure))
      await Promise.all(calls)
      failToConnect(false)
    },
  ],
  ["has a statement that fails", ({ write, failure }) => expect(write("fail")).rejects.toBe(failure)],
  [
    "has a change that fails at the commit",
    ({ work }) =>
      expect(work((participant) => participant.change([change("fail")]))).rejects.toBeInstanceOf(RolledBack),
  ],
  [
    "fails at the commit",
    async ({ write, settle, answer, failure }) => {
      const call = write("a")
      await settle()
      answer("1 COMMIT", failure)
      await expect(call).rejects.toBe(failure)
    },
  ],
  [
    "is rolled back by another participant, with those whose work was done",
    async ({ write, settle, answer, failure }) => {
      const calls = ["wait", "a", "fail"].map((sql) => write(sql))
      const over = Promise.allSettled(calls)
      await settle()
      answer("1 wait")
      const undone = { status: "rejected", reason: expect.any(RolledBack) }
      expect(await over).toEqual([undone, undone, { status: "rejected", reason: failure }])
    },
  ],
  [
    "continues after a failed statement, in a new transaction",
    async ({ ran, work, write, settle, answer }) => {
      const call = work(async (participant) => {
        await participant.write("fail", []).catch(() => {})
        await participant.write("a", [])
      })
      const next = write("b")
      await settle()
      // Nobody joins the new transaction, because the connection may be lost.
      expect(ran.slice(2)).toEqual(["1 ROLLBACK", "1 BEGIN", "1 a", "1 COMMIT", "2 BEGIN", "2 b", "2 COMMIT"])
      for (const connection of [1, 2]) answer(`${connection} COMMIT`)
      await Promise.all([call, next])
    },
  ],
  [
    "is given up while it waits, and while it runs",
    async ({ work, write, settle, answer }) => {
      const leaving = new AbortController()
      const first = write("wait")
      await settle()
      const calls = Promise.allSettled(
        [1, 2].map(() =>
          work(
            async (participant) => {
              await participant.write("a", [])
              leaving.abort(new Error("gone"))
              await participant.write("b", [])
            },
            { signal: leaving.signal },
          ),
        ),
      )
      answer("1 wait")
      await settle()
      answer("1 COMMIT")
      await expect(first).rejects.toBeInstanceOf(RolledBack)
      expect((await calls).map(({ status }) => status)).toEqual(["rejected", "rejected"])
    },
  ],
])("a transaction that %s is no longer counted", async (_, fail) => {
  const context = held({ leases: 2 })
  await fail(context)
  await context.expectNoneCounted()
})
