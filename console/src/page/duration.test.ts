import { expect, test } from "@jest/globals"
import { durationText, secondsOf } from "./duration.ts"

test.each([
  ["90d", 7_776_000],
  ["1d 12h", 129_600],
  ["61m", 3_660],
  [" 5s ", 5],
])("%j is so many seconds, which are written so that they are read again", (text, seconds) => {
  expect(secondsOf(text)).toBe(seconds)
  expect(secondsOf(durationText(seconds))).toBe(seconds)
})

test("an empty text is no duration, and anything else is an error", () => {
  expect([secondsOf(""), secondsOf("  ")]).toEqual([null, null])
  for (const text of ["5", "d", "1w", "-1d", "1.5h", "1d12h", "99999999999d"]) expect(secondsOf(text)).toBeUndefined()
  expect(durationText(129_600)).toBe("1d 12h")
})
