import { expect, test } from "@jest/globals"
import { Connection } from "./connection.js"
import { limits } from "./limits.js"
import { signalRequests } from "./signal-requests.js"

test("S-60 requests with signals have a rate for each address, over all of its connections", () => {
  const requests = signalRequests()
  const request = { cut() {} }
  const send = (address: string) => {
    const connection = new Connection(1_000_000, undefined)
    const waitMs = requests.enter(address, connection, request)
    if (waitMs === 0) requests.leave(connection, request)
    return waitMs
  }
  const waits = Array.from({ length: 2 * limits.signalBurst }, () => send("192.0.2.1"))
  expect(waits.slice(0, limits.signalBurst)).toEqual(Array(limits.signalBurst).fill(0))
  expect(waits.filter((waitMs) => waitMs > 0).length).toBeGreaterThan(0)
  expect(send("192.0.2.2")).toBe(0)
})
