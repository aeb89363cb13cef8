import { SessionService } from "@authwire/proto"
import { create } from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"
import { Failure } from "../../errors/failure.js"
import { waitsUntil } from "../../util/abort.js"
import type { Call } from "../call.js"
import { awaitCaches } from "./await-caches.js"

const { deleteSession } = SessionService.method

/** Makes a call with `await_caches: asks` of a tenant whose clients never confirm. `does` is the handler's work. */
function made(does: () => Promise<void>, call: Partial<Call>, asks = true): Promise<unknown> {
  const never = (_tenant: string, signal: AbortSignal) => waitsUntil(signal).for(new Promise<void>(() => {}))
  const answer = create(deleteSession.output)
  const unary = awaitCaches(never).unary?.(deleteSession, async () => {
    await does()
    return answer
  })
  const request = create(deleteSession.input, { sessionToken: "t", awaitCaches: asks })
  const owner = { tenant: "default", keyId: undefined }
  return unary?.(request, { owner, leaveLimit() {}, ...call } as Call) as Promise<unknown>
}

const caller = () => new AbortController()
const done = async () => {}

describe("a call that waits for clients that never confirm", () => {
  test("fails with CACHES_NOT_CONFIRMED before its deadline", async () => {
    const deadline = performance.now() + 400
    const result = made(done, { signal: caller().signal, deadline })
    await expect(result).rejects.toMatchObject({ reason: "CACHES_NOT_CONFIRMED" })
  })

  test("fails with CACHES_NOT_CONFIRMED although the session did not exist any more", async () => {
    const gone = async () => {
      throw new Failure("SESSION_NOT_FOUND")
    }
    const result = made(gone, { signal: caller().signal, deadline: performance.now() + 300 })
    await expect(result).rejects.toMatchObject({ reason: "CACHES_NOT_CONFIRMED" })
  })

  test("fails with CACHES_NOT_CONFIRMED at once if its work took until the deadline", async () => {
    const result = made(done, { signal: caller().signal, deadline: performance.now() - 1 })
    await expect(result).rejects.toMatchObject({ reason: "CACHES_NOT_CONFIRMED" })
  })

  test("fails with CANCELLED when the caller cancels", async () => {
    const leaving = caller()
    const result = made(done, { signal: leaving.signal, deadline: performance.now() + 60_000 })
    leaving.abort(new Failure("CANCELLED"))
    await expect(result).rejects.toMatchObject({ reason: "CANCELLED" })
  })

  test("leaves the concurrency limit after its work, and before it waits", async () => {
    const order: string[] = []
    const leaving = caller()
    const does = async () => void order.push("works")
    const result = made(does, {
      signal: leaving.signal,
      deadline: undefined,
      leaveLimit: () => void order.push("leaves"),
    })
    await new Promise(setImmediate)
    expect(order).toEqual(["works", "leaves"])
    leaving.abort(new Failure("CANCELLED"))
    await expect(result).rejects.toMatchObject({ reason: "CANCELLED" })
  })

  test("does not wait if its work failed", async () => {
    const fails = async () => {
      throw new Failure("OVERLOADED")
    }
    const result = made(fails, { signal: caller().signal, deadline: undefined })
    await expect(result).rejects.toMatchObject({ reason: "OVERLOADED" })
  })

  test("does not wait without await_caches", async () => {
    await expect(made(done, { signal: caller().signal, deadline: undefined }, false)).resolves.toBeDefined()
  })
})
