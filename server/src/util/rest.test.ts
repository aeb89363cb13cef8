import { expect, jest, test } from "@jest/globals"
import { restMs } from "./rest.js"

test("a rest is a multiple of the time that the work took, and at most five seconds, even if the process was stopped meanwhile", () => {
  const clock = jest.spyOn(performance, "now")
  clock.mockReturnValue(1_000)
  expect([restMs(900, 4), restMs(900, 4, 300), restMs(-3_600_000, 1)]).toEqual([400, 300, 5_000])
  clock.mockRestore()
})
