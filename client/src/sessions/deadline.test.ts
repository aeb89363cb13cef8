import { expect, test } from "@jest/globals"
import { AuthwireError } from "../error.js"
import { sessionDeadline } from "./deadline.js"

/** A bounded call under a clock of the test's own, and a session that the service does not answer for. */
async function timedOut() {
  const clock = { now: 0 }
  const bounded = sessionDeadline(20, () => clock.now)
  const never = () => new Promise<string>(() => {})
  const error = await bounded("getSessionAndUser", "Ada's", never).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(AuthwireError)
  expect(error).toMatchObject({ code: "DEADLINE_EXCEEDED", method: "getSessionAndUser" })
  return { clock, bounded, error }
}

test("who asks again for the same session gets the same answer, and the service is not asked", async () => {
  const { clock, bounded, error } = await timedOut()
  clock.now = 19
  await expect(bounded("decode", "Ada's", () => Promise.reject(new Error("asked")))).rejects.toBe(error)
})

test("the service is asked for another session, and for the same when the time is over", async () => {
  const { clock, bounded } = await timedOut()
  expect(await bounded("getSessionAndUser", "Grace's", () => "Grace")).toBe("Grace")
  expect(await bounded("encode", undefined, () => "a token")).toBe("a token")
  clock.now = 20
  expect(await bounded("getSessionAndUser", "Ada's", () => "Ada")).toBe("Ada")
})

test("other failures are not kept", async () => {
  const bounded = sessionDeadline(1_000)
  const unavailable = new AuthwireError({ code: "UNAVAILABLE", detail: "gone" })
  await expect(bounded("getSessionAndUser", "Ada's", () => Promise.reject(unavailable))).rejects.toBe(unavailable)
  expect(await bounded("getSessionAndUser", "Ada's", () => "Ada")).toBe("Ada")
})

test("a deadline of the client that comes first is kept too", async () => {
  const bounded = sessionDeadline(1_000)
  const late = new AuthwireError({ code: "DEADLINE_EXCEEDED", detail: "late" })
  await expect(bounded("getSessionAndUser", "Ada's", () => Promise.reject(late))).rejects.toBe(late)
  await expect(bounded("getSessionAndUser", "Ada's", () => "Ada")).rejects.toBe(late)
})
