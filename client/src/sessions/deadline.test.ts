import { expect, jest, test } from "@jest/globals"
import { AuthwireError } from "../errors/error.js"
import { sessionDeadline } from "./deadline.js"

test("after a timeout, calls for the same session fail with the same error for as long, and others reach the service", async () => {
  jest.useFakeTimers({ doNotFake: ["setImmediate"] })
  try {
    const bounded = sessionDeadline(20)
    const timedOut = bounded("getSessionAndUser", "Ada's", () => new Promise<string>(() => {})).catch((error) => error)
    jest.advanceTimersByTime(20)
    const error = await timedOut
    expect(error).toBeInstanceOf(AuthwireError)
    expect(error).toMatchObject({ code: "DEADLINE_EXCEEDED", method: "getSessionAndUser" })
    jest.advanceTimersByTime(19)
    await expect(bounded("decode", "Ada's", () => Promise.reject(new Error("asked")))).rejects.toBe(error)
    expect(await bounded("getSessionAndUser", "Grace's", () => "Grace")).toBe("Grace")
    expect(await bounded("encode", undefined, () => "a token")).toBe("a token")
    jest.advanceTimersByTime(1)
    expect(await bounded("getSessionAndUser", "Ada's", () => "Ada")).toBe("Ada")
  } finally {
    jest.useRealTimers()
  }
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
