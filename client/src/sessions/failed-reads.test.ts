import { setImmediate } from "node:timers/promises"
import { expect, jest, test } from "@jest/globals"
import { AuthwireError, callError, invalid, missingOption } from "../errors/error.js"
import { failedReads } from "./failed-reads.js"

const outage = new AuthwireError({ code: "UNAVAILABLE", detail: "gone" })

test("a failed read is forgotten even if no timer ever fires, as in workerd after the end of a request", async () => {
  const reads = failedReads()
  jest.useFakeTimers()
  try {
    reads.record(outage)
  } finally {
    jest.useRealTimers()
  }
  expect(reads.throwIfAny).toThrow(outage)
  await setImmediate()
  expect(reads.throwIfAny).not.toThrow()
})

test("a failed read is remembered until the next read of Auth.js, also through wrappers of the application", async () => {
  const reads = failedReads()
  let read = async (): Promise<void> => {
    reads.record(outage)
    throw outage
  }
  for (let wrappers = 0; wrappers < 20; wrappers++) {
    const inner = read
    read = async () => inner()
  }
  await expect(read()).rejects.toBe(outage)
  expect(reads.throwIfAny).toThrow(outage)
})

test("a session with an invalid user ID belongs to no user; a missing option is an outage", () => {
  const reads = failedReads()
  reads.record(callError("getUser", "the service", invalid("id", "must be a string")))
  expect(reads.throwIfAny).not.toThrow()
  reads.record(callError("decode", "the service", missingOption("apiKey")))
  expect(reads.throwIfAny).toThrow("the option apiKey")
})
