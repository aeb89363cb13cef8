import { expect, test } from "@jest/globals"
import { fullDisk } from "./full-disk.js"
import { StatementError } from "./query/statement-error.js"

const full = new StatementError("full", "no space")

/** Returns how long the disk counts as full from now on, in milliseconds. The clock is then at the end of that time. */
function opened() {
  const clock = { ms: 1_000_000 }
  const disk = fullDisk(() => clock.ms)
  const isFull = () => {
    try {
      disk.check()
      return false
    } catch (error) {
      expect(error).toBe(full)
      return true
    }
  }
  const rest = () => {
    const begun = clock.ms
    while (isFull()) clock.ms += 1_000
    return clock.ms - begun
  }
  return { clock, disk, rest }
}

test("the disk counts as full for five seconds after the last write that found no space", () => {
  const { clock, disk, rest } = opened()
  expect(rest()).toBe(0)
  for (const failure of ["unavailable", "read-only", "fault"] as const) disk.saw(new StatementError(failure, ""))
  disk.saw(new Error("no statement"))
  expect(rest()).toBe(0)
  for (let times = 0; times < 3; times++) {
    disk.saw(full)
    clock.ms += 4_000
  }
  expect(rest()).toBe(1_000)
})

test("and for twice as long, up to a minute, if it is full again within a minute after that", () => {
  const { clock, disk, rest } = opened()
  const again = () => {
    clock.ms += 1_000
    disk.saw(full)
    return rest()
  }
  expect([again(), again(), again(), again(), again(), again()]).toEqual([5, 10, 20, 40, 60, 60].map((s) => s * 1_000))
  clock.ms += 60_000
  disk.saw(full)
  expect(rest()).toBe(5_000)
})
