import { afterEach, expect, jest, test } from "@jest/globals"
import type { PooledConnection } from "../engine/pooled-connection.js"
import { Group } from "./group.js"

afterEach(() => {
  jest.restoreAllMocks()
})

test("S-22: nobody joins a transaction that has been open for 20 ms, because who is done waits for all of its units", () => {
  let time = 0
  jest.spyOn(performance, "now").mockImplementation(() => time)
  const connection = { isInTransaction: false, close: async () => {} } as unknown as PooledConnection
  const states: boolean[] = []
  for (const ms of [0, 19, 20]) {
    time = 0
    const permits = { offer: () => true, close() {} }
    const group = new Group(connection, permits as never, 16)
    time = ms
    group.pass()
    states.push(group.state === "open")
  }
  expect(states).toEqual([true, true, false])
})
