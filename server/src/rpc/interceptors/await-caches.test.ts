import { SessionService } from "@authwire/proto"
import { create } from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"
import { waitsUntil } from "../../util/abort.js"
import type { Call } from "../call.js"
import { Failure } from "../errors.js"
import { awaitCaches } from "./await-caches.js"

const { deleteSession } = SessionService.method

/** A call with `await_caches` of a tenant whose clients never confirm; `does` is the work behind it. */
function made(does: () => Promise<void>, call: Partial<Call>, asks = true): Promise<unknown> {
  const never = (_tenant: string, signal: AbortSignal) => waitsUntil(signal).for(new Promise<void>(() => {}))
  const answer = create(deleteSession.output)
  const unary = awaitCaches(never).unary?.(deleteSession, async () => {
    await does()
    return answer
  })
  const request = create(deleteSession.input, { sessionToken: "t", awaitCaches: asks })
  return unary?.(request, { tenant: "default", ...call } as Call) as Promise<unknown>
}

const caller = () => new AbortController()
const done = async () => {}

describe("a call that waits for clients that never confirm", () => {
  test("is told before its deadline that it was done", async () => {
    const deadline = Date.now() + 400
    const told = made(done, { signal: caller().signal, deadline })
    await expect(told).rejects.toMatchObject({ reason: "CACHES_NOT_CONFIRMED" })
  })

  test("is told so although the session was not there any more", async () => {
    const gone = async () => {
      throw new Failure("SESSION_NOT_FOUND")
    }
    const told = made(gone, { signal: caller().signal, deadline: Date.now() + 300 })
    await expect(told).rejects.toMatchObject({ reason: "CACHES_NOT_CONFIRMED" })
  })

  test("is told so at once if its work took until the deadline", async () => {
    const told = made(done, { signal: caller().signal, deadline: Date.now() - 1 })
    await expect(told).rejects.toMatchObject({ reason: "CACHES_NOT_CONFIRMED" })
  })

  test("ends with the caller's reason when the caller leaves", async () => {
    const leaving = caller()
    const told = made(done, { signal: leaving.signal, deadline: Date.now() + 60_000 })
    leaving.abort(new Failure("CANCELLED"))
    await expect(told).rejects.toMatchObject({ reason: "CANCELLED" })
  })

  test("does not wait if it was not done", async () => {
    const fails = async () => {
      throw new Failure("OVERLOADED")
    }
    const told = made(fails, { signal: caller().signal, deadline: undefined })
    await expect(told).rejects.toMatchObject({ reason: "OVERLOADED" })
  })

  test("does not wait if it does not ask for that", async () => {
    await expect(made(done, { signal: caller().signal, deadline: undefined }, false)).resolves.toBeDefined()
  })
})
