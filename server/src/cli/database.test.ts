import { expect, test } from "@jest/globals"
import { busyPollMs } from "./database.js"

test.each([
  [1, 2, 0.3],
  [3, 4, 0.3],
  [2, 2, 0],
  [8, 4, 0],
  [1, 1, 0],
])("%i workers on %i cores stay awake for %d ms", (workers, cores, ms) => {
  expect(busyPollMs({ busyPollUs: 300, workers }, cores)).toBe(ms)
})
