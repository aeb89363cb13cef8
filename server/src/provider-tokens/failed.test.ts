import { expect, test } from "@jest/globals"
import { errorOf, failedOf } from "./failed.js"
import type { FailedRefresh } from "./token-answer.js"

/** Returns the pauses, in seconds, if a refresh fails again and again. */
function pausesOf(failed: FailedRefresh, count: number): number[] {
  let last: string | undefined
  return Array.from({ length: count }, () => {
    const { failure, ms } = failedOf(failed, last)
    last = failure
    return ms / 1000
  })
}

test("pauses grow up to a limit, and are not shorter than the provider asks for", () => {
  expect(pausesOf({ kind: "unavailable", failure: "timeout" }, 8)).toEqual([5, 10, 20, 40, 80, 160, 300, 300])
  expect(pausesOf({ kind: "client", code: "invalid_client" }, 6)).toEqual([60, 120, 240, 480, 900, 900])
  expect(pausesOf({ kind: "refused" }, 9).map((pause) => pause / 3600)).toEqual([0.25, 0.5, 1, 2, 4, 8, 16, 24, 24])
  expect(pausesOf({ kind: "unavailable", failure: "status", retryAfterMs: 15_000 }, 4)).toEqual([15, 15, 20, 40])
  expect(pausesOf({ kind: "unavailable" }, 200).at(-1)).toBe(300)
})

test("a failure of another kind begins with the first pause", () => {
  const { failure } = failedOf(
    { kind: "unavailable", failure: "network" },
    failedOf({ kind: "unavailable" }, undefined).failure,
  )
  expect(failedOf({ kind: "refused" }, failure).ms).toBe(900_000)
})

test("what is stored fits into 64 bytes and becomes the error with its metadata", () => {
  const longest: FailedRefresh = { kind: "unavailable", failure: "malformed", code: "e".repeat(32), status: 400 }
  const last = "unavailable:::500:98"
  expect(failedOf(longest, last).failure.length).toBeLessThanOrEqual(64)
  expect(errorOf(failedOf(longest, last))).toMatchObject({
    reason: "PROVIDER_UNAVAILABLE",
    retryAfterMs: 300_000,
    metadata: { failure: "malformed", oauth_error: "e".repeat(32), http_status: "400" },
  })
  expect(errorOf(failedOf({ kind: "refused", status: 400 }, undefined))).toMatchObject({
    reason: "REFRESH_REFUSED",
    metadata: { http_status: "400" },
  })
})
