import { EventEmitter } from "node:events"
import { UserService } from "@authwire/proto"
import { expect, test } from "@jest/globals"
import type { Call } from "../../rpc/call.js"
import { sharedLimits } from "../../util/shared-limits.js"
import { acquireSlot, Connection, keyBudgets } from "./connection.js"

test("a call beyond the streams of its key is rejected, and not counted, so that it is not held for a pause", () => {
  const keys = keyBudgets(1024, 10_000)
  const connection = new Connection(1024, undefined, keys)
  const admitted = (keyId: string | undefined) => {
    const identity = { tenant: "a tenant", keyId, hasScope: () => true }
    const call = {
      identity,
      method: UserService.method.getUser,
      signal: new AbortController().signal,
    } as unknown as Call
    call.isCounted = false
    const stream = new EventEmitter()
    const begin = () => void acquireSlot(connection, call, stream)
    return { call, stream, begin }
  }
  const all = Array.from({ length: sharedLimits.streams.key }, () => admitted("a key"))
  for (const { begin } of all) begin()
  expect(all.every(({ call }) => call.isCounted)).toBe(true)
  const beyond = admitted("a key")
  expect(beyond.begin).toThrow("has reached the limit of streams")
  expect(beyond.call.isCounted).toBe(false)
  all[0]?.stream.emit("close")
  beyond.begin()
  expect(beyond.call.isCounted).toBe(true)
})
