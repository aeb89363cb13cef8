import { setImmediate as nextTurn } from "node:timers/promises"
import { afterEach, expect, jest, test } from "@jest/globals"
import type { SqlEngine } from "../engine/engine.js"
import { Lease } from "../engine/lease.js"
import { StatementError } from "../engine/statement-error.js"
import type { Change } from "../query/statement.js"
import { groupCommit, type Member, type Place, Undone } from "./group-commit.js"
import { queue } from "./queue.js"
import { gate } from "./semaphore.js"

/**
 * Transactions on connections that take the statement "wait", and COMMIT, for as long as the test likes: no database does so with a
 * COMMIT. The statement "fail" fails.
 */
function held({ places = 10 } = {}) {
  // Nobody begins a transaction because he has waited for long, unless the test says so.
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
  const entrance = gate(waiting, { places, writers: places })
  const groups = groupCommit({ size: { limit: 3, ahead: 1 }, begin: "BEGIN", queue: waiting })
  const enter = async (): Promise<Place> => {
    await entrance.enter("write", undefined)
    const lease = new Lease({ connect, engine: "mysql" } as SqlEngine)
    const leave = async () => {
      await lease.close()
      entrance.leave("write")
    }
    return { lease, leave }
  }
  const work = async (
    statements: (member: Member) => Promise<unknown>,
    { isAlone = false, signal }: { isAlone?: boolean; signal?: AbortSignal } = {},
  ) => {
    const member = await groups.join({ signal }, enter, isAlone)
    try {
      await statements(member)
      await member.commit()
    } finally {
      await member.leave()
    }
  }
  /** Until everything that can go on has done so. */
  const rest = async () => {
    for (let turn = 0; turn < 10; turn++) await nextTurn()
  }
  const answer = (statement: string, error?: Error) => answers.get(statement)?.(error)
  const write = (sql: string, isAlone = false) => work((member) => member.write(sql, []), { isAlone })
  return {
    ...{ ran, rest, answer, work, write, failure },
    failToConnect: (fails: boolean) => {
      connectFails = fails
    },
    /** Fails if any transaction is counted that is over, or one that is not is not: so many begin as at first. */
    expectNoneCounted: async () => {
      await rest()
      const from = ran.length
      const begun = () => ran.slice(from).filter((one) => one.endsWith("BEGIN")).length
      const calls = [write("wait")]
      await rest()
      expect(begun()).toBe(1)
      calls.push(write("a"))
      await rest()
      expect(begun()).toBe(1)
      const hurried = write("b")
      const last = connections
      await jest.advanceTimersByTimeAsync(5)
      await rest()
      expect(begun()).toBe(2)
      for (const statement of ["wait", "COMMIT"]) {
        for (const connection of [last, last + 1]) answer(`${connection} ${statement}`)
        await rest()
      }
      await Promise.all([...calls, hurried])
      expect(begun()).toBe(2)
    },
  }
}

afterEach(() => {
  jest.useRealTimers()
})

test("the next transaction begins while the one before it is being committed, and takes those who wait", async () => {
  const { ran, rest, answer, write } = held()
  const first = ["wait", "a", "b"].map((sql) => write(sql))
  const next = ["c", "d"].map((sql) => write(sql))
  await rest()
  expect(ran).toEqual(["1 BEGIN", "1 wait"])
  answer("1 wait")
  await rest()
  expect(ran.slice(2)).toEqual(["1 a", "1 b", "1 COMMIT", "2 BEGIN", "2 c", "2 d", "2 COMMIT"])
  answer("2 COMMIT")
  await Promise.all(next)
  answer("1 COMMIT")
  await Promise.all(first)
})

test("only one: when that before it has been committed, who comes still waits", async () => {
  const { ran, rest, answer, write } = held()
  const calls = ["a", "b", "c"].map((sql) => write(sql))
  await rest()
  calls.push(...["wait", "d", "e", "f"].map((sql) => write(sql)))
  await rest()
  answer("1 COMMIT")
  await rest()
  expect(ran.slice(-2)).toEqual(["2 BEGIN", "2 wait"])
  answer("2 wait")
  await rest()
  expect(ran.slice(-6)).toEqual(["2 d", "2 e", "2 COMMIT", "3 BEGIN", "3 f", "3 COMMIT"])
  for (const connection of [2, 3]) answer(`${connection} COMMIT`)
  await Promise.all(calls)
})

test("who has waited for 5 ms begins another one, also when others who came before him were taken meanwhile; one each 5 ms", async () => {
  const { ran, rest, answer, write } = held()
  const alone = write("alone", true)
  await rest()
  answer("1 COMMIT")
  await alone
  ran.length = 0
  const calls = ["wait", "a", "wait", "wait", "b"].map((sql) => write(sql))
  await rest()
  answer("2 wait")
  await rest()
  expect(ran).toEqual(["2 BEGIN", "2 wait", "2 a", "2 wait"])
  await jest.advanceTimersByTimeAsync(4)
  expect(ran.slice(4)).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  await rest()
  expect(ran.slice(4)).toEqual(["3 BEGIN", "3 wait"])
  await jest.advanceTimersByTimeAsync(4)
  expect(ran.slice(6)).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  await rest()
  expect(ran.slice(6)).toEqual(["4 BEGIN", "4 b", "4 COMMIT"])
  for (const statement of ["2 wait", "3 wait", "4 COMMIT"]) answer(statement)
  await rest()
  for (const connection of [2, 3]) answer(`${connection} COMMIT`)
  await Promise.all(calls)
})

test("a transaction that somebody has for himself holds nobody up, and lets no further one begin when it ends", async () => {
  const { ran, rest, answer, write } = held()
  const calls = [write("wait", true)]
  await rest()
  calls.push(...["wait", "a", "b", "c"].map((sql) => write(sql)))
  await rest()
  expect(ran).toEqual(["1 BEGIN", "1 wait", "2 BEGIN", "2 wait"])
  answer("1 wait")
  await rest()
  answer("1 COMMIT")
  await rest()
  expect(ran.slice(4)).toEqual(["1 COMMIT"])
  answer("2 wait")
  await rest()
  expect(ran.slice(5)).toEqual(["2 a", "2 b", "2 COMMIT", "3 BEGIN", "3 c", "3 COMMIT"])
  for (const connection of [2, 3]) answer(`${connection} COMMIT`)
  await Promise.all(calls)
})

test("while one that is begun waits for a place, all others who come stay together", async () => {
  const { ran, rest, answer, write, expectNoneCounted } = held({ places: 2 })
  const calls = ["wait", "wait"].map((sql) => write(sql, true))
  await rest()
  calls.push(...["a", "b", "c", "d", "e", "f", "g", "h", "i"].map((sql) => write(sql)))
  await jest.advanceTimersByTimeAsync(100)
  await rest()
  expect(ran).toEqual(["1 BEGIN", "2 BEGIN", "1 wait", "2 wait"])
  for (const statement of ["1 wait", "2 wait"]) answer(statement)
  for (let round = 0; round < 3; round++) {
    await rest()
    for (let connection = 1; connection < 20; connection++) answer(`${connection} COMMIT`)
  }
  await Promise.all(calls)
  // Three of them, for the nine.
  expect(ran.filter((one) => one.endsWith("COMMIT")).slice(2)).toHaveLength(3)
  await expectNoneCounted()
})

type Held = ReturnType<typeof held>

const change = (sql: string): Change => ({
  ...{ kind: sql, sql, cells: [], rank: 0, mustMatch: false, mayStandTwice: false },
  sqlOf: () => sql,
})

test.each<[string, (context: Held) => Promise<unknown>]>([
  [
    "has no connection",
    async ({ write, failToConnect, failure }) => {
      failToConnect(true)
      const calls = ["a", "b"].map((sql) => expect(write(sql)).rejects.toBe(failure))
      await Promise.all(calls)
      failToConnect(false)
    },
  ],
  ["fails by a statement", ({ write, failure }) => expect(write("fail")).rejects.toBe(failure)],
  [
    "fails by its last change",
    ({ work }) => expect(work((member) => member.change([change("fail")]))).rejects.toBeInstanceOf(Undone),
  ],
  [
    "fails at the commit",
    async ({ write, rest, answer, failure }) => {
      const call = write("a")
      await rest()
      answer("1 COMMIT", failure)
      await expect(call).rejects.toBe(failure)
    },
  ],
  [
    "is undone by another one, with those whose work was done",
    async ({ write, rest, answer, failure }) => {
      const calls = ["wait", "a", "fail"].map((sql) => write(sql))
      const over = Promise.allSettled(calls)
      await rest()
      answer("1 wait")
      const undone = { status: "rejected", reason: expect.any(Undone) }
      expect(await over).toEqual([undone, undone, { status: "rejected", reason: failure }])
    },
  ],
  [
    "goes on after a statement that failed, in a new transaction",
    async ({ ran, work, write, rest, answer }) => {
      const call = work(async (member) => {
        await member.write("fail", []).catch(() => {})
        await member.write("a", [])
      })
      const next = write("b")
      await rest()
      // Nobody joins it then: the connection may be lost.
      expect(ran.slice(2)).toEqual(["1 ROLLBACK", "1 BEGIN", "1 a", "1 COMMIT", "2 BEGIN", "2 b", "2 COMMIT"])
      for (const connection of [1, 2]) answer(`${connection} COMMIT`)
      await Promise.all([call, next])
    },
  ],
  [
    "gives up while it waits, and while it works",
    async ({ work, write, rest, answer }) => {
      const leaving = new AbortController()
      const first = write("wait")
      await rest()
      const calls = Promise.allSettled(
        [1, 2].map(() =>
          work(
            async (member) => {
              await member.write("a", [])
              leaving.abort(new Error("gone"))
              await member.write("b", [])
            },
            { signal: leaving.signal },
          ),
        ),
      )
      answer("1 wait")
      await rest()
      answer("1 COMMIT")
      await expect(first).rejects.toBeInstanceOf(Undone)
      expect((await calls).map(({ status }) => status)).toEqual(["rejected", "rejected"])
    },
  ],
])("a transaction that %s leaves nothing behind that counts", async (_, fail) => {
  const context = held({ places: 2 })
  await fail(context)
  await context.expectNoneCounted()
})
