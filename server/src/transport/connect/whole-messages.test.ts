import { expect, test } from "@jest/globals"
import { withPrefix } from "../listener/prefix.js"
import { WholeMessages } from "./whole-messages.js"

const bytes = Buffer.concat([0, 3, 0, 300, 7].map((length) => withPrefix(0, Buffer.alloc(length, length))))
const chunksOf = (size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size))

test("messages in chunks of any size are passed on byte for byte, and each only when it is complete", () => {
  const ends = [5, 13, 18, 323, 335]
  for (let size = 1; size <= bytes.length; size++) {
    const whole = new WholeMessages(300)
    const passed: Uint8Array[] = []
    let arrived = 0
    for (const chunk of chunksOf(size)) {
      arrived += chunk.length
      passed.push(...whole.received(chunk))
      const complete = ends.findLast((end) => end <= arrived) ?? 0
      expect([Buffer.concat(passed).length, whole.isIncomplete]).toEqual([complete, complete < arrived])
    }
    expect(Buffer.concat(passed).equals(bytes)).toBe(true)
  }
})

test("a message that is too large is passed on with its prefix, so that Connect rejects it", () => {
  const whole = new WholeMessages(299)
  expect(whole.received(bytes.subarray(0, 22))).toEqual([bytes.subarray(0, 18)])
  expect(Buffer.concat(whole.received(bytes.subarray(22, 23)))).toEqual(bytes.subarray(18, 23))
})
