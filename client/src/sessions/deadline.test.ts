import { expect, test } from "@jest/globals"
import { AuthwireError } from "../errors/error.js"
import { sessionDeadline } from "./deadline.js"

/** Makes a call that times out. Returns the bounded function, its clock and the error. */
async function timedOut() {
  const clock = { now: 0 }
  const bounded = sessionDeadline(20, () => clock.now)
  const never = () => new Promise<string>(() => {})
  const error = await bounded("getSessionAndUser", "Ada's", never).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(AuthwireError)
  expect(error).toMatchObject({ code: "DEADLINE_EXCEEDED", method: "getSessionAndUser" })
  return { clock, bounded, error }
}

test("another call for the same session fails with the same error, without a call to the service", async () => {
  const { clock, bounded, error } = await timedOut()
  clock.now = 19
  await expect(bounded("decode", "Ada's", () => Promise.reject(new Error("asked")))).rejects.toBe(error)
})

test("calls for another session, and for the same session after the timeout, reach the service", async () => {
  const { clock, bounded } = await timedOut()
  expect(await bounded("getSessionAndUser", "Grace's", () => "Grace")).toBe("Grace")
  expect(await bounded("encode", undefined, () => "a token")).toBe("a token")
  clock.now = 20
  expect(await bounded("getSessionAndUser", "Ada's", () => "Ada")).toBe("Ada")
})

test("other errors are not remembered", async () => {
  const bounded = sessionDeadline(1_000)
  const unavailable = new AuthwireError({ code: "UNAVAILABLE", detail: "gone" })
  await expect(bounded("getSessionAndUser", "Ada's", () => Promise.reject(unavailable))).rejects.toBe(unavailable)
  expect(await bounded("getSessionAndUser", "Ada's", () => "Ada")).toBe("Ada")
})

test("an earlier DEADLINE_EXCEEDED of the client is remembered too", async () => {
  const bounded = sessionDeadline(1_000)
  const late = new AuthwireError({ code: "DEADLINE_EXCEEDED", detail: "late" })
  await expect(bounded("getSessionAndUser", "Ada's", () => Promise.reject(late))).rejects.toBe(late)
  await expect(bounded("getSessionAndUser", "Ada's", () => "Ada")).rejects.toBe(late)
})
