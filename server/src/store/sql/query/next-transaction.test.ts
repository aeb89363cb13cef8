import { setImmediate as nextTurn } from "node:timers/promises"
import { afterEach, expect, jest, test } from "@jest/globals"
import type { SqlEngine } from "../engine/engine.js"
import { Lease } from "../engine/lease.js"
import { groupCommit, type Place } from "./group-commit.js"
import { queue } from "./queue.js"

/**
 * Transactions on connections that take the statement "wait", and COMMIT, for as long as the test likes. No database does so
 * with a COMMIT.
 */
function held() {
  // Nobody begins a transaction because it has waited for long.
  jest.useFakeTimers({ doNotFake: ["setImmediate"] })
  const ran: string[] = []
  const answers = new Map<string, () => void>()
  let connections = 0
  const connect: SqlEngine["connect"] = async () => {
    const name = `${++connections}`
    const run = async (sql: string) => {
      ran.push(`${name} ${sql}`)
      if (sql === "wait" || sql === "COMMIT") {
        await new Promise<void>((resolve) => answers.set(`${name} ${sql}`, resolve))
      }
      return { rows: [], matched: 1 }
    }
    return { reused: false, run, release() {}, discard() {} }
  }
  const groups = groupCommit({ size: { limit: 3, ahead: 1 }, begin: "BEGIN", queue: queue(10) })
  const enter = async (): Promise<Place> => {
    const lease = new Lease({ connect, engine: "mysql" } as SqlEngine)
    await lease.open()
    return { lease, leave: () => lease.close() }
  }
  return {
    ran,
    /** Until everything that can go on has done so. */
    rest: async () => {
      for (let turn = 0; turn < 10; turn++) await nextTurn()
    },
    answer: (statement: string) => answers.get(statement)?.(),
    write: async (sql: string, isAlone = false) => {
      const member = await groups.join({}, enter, isAlone)
      await member.write(sql, [])
      await member.commit()
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

test("those who wait begin another one as soon as they fill it, beyond what those that are begun take", async () => {
  const { ran, rest, answer, write } = held()
  const calls = ["wait", "a", "b", "c", "d"].map((sql) => write(sql))
  await rest()
  expect(ran).toEqual(["1 BEGIN", "1 wait"])
  calls.push(write("e"))
  await rest()
  expect(ran.slice(2)).toEqual(["2 BEGIN", "2 a", "2 b", "2 c", "2 COMMIT"])
  answer("1 wait")
  await rest()
  expect(ran.slice(7)).toEqual(["1 d", "1 e", "1 COMMIT"])
  for (const connection of [1, 2]) answer(`${connection} COMMIT`)
  await Promise.all(calls)
})

test("who has waited for 5 ms begins another one, also when others who came before him were taken meanwhile; one each 5 ms", async () => {
  const { ran, rest, answer, write } = held()
  const calls = ["wait", "a", "wait", "wait", "b"].map((sql) => write(sql))
  await rest()
  answer("1 wait")
  await rest()
  expect(ran).toEqual(["1 BEGIN", "1 wait", "1 a", "1 wait"])
  await jest.advanceTimersByTimeAsync(4)
  expect(ran.slice(4)).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  await rest()
  expect(ran.slice(4)).toEqual(["2 BEGIN", "2 wait"])
  await jest.advanceTimersByTimeAsync(4)
  expect(ran.slice(6)).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  await rest()
  expect(ran.slice(6)).toEqual(["3 BEGIN", "3 b", "3 COMMIT"])
  for (const statement of ["1 wait", "2 wait", "3 COMMIT"]) answer(statement)
  await rest()
  for (const connection of [1, 2]) answer(`${connection} COMMIT`)
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
