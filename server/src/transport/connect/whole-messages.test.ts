import { expect, test } from "@jest/globals"
import { withPrefix } from "../listener/prefix.js"
import { WholeMessage, WholeMessages } from "./whole-messages.js"

const unchecked = () => {}

const bytes = Buffer.concat([0, 3, 0, 300, 7].map((length) => withPrefix(0, Buffer.alloc(length, length))))
const chunksOf = (size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size))

test("messages in chunks of any size are passed on byte for byte, and each only when it is complete", () => {
  const ends = [5, 13, 18, 323, 335]
  for (let size = 1; size <= bytes.length; size++) {
    const passed: Uint8Array[] = []
    const checked: number[] = []
    const whole = new WholeMessages(300, ({ length }) => void checked.push(length))
    let arrived = 0
    for (const chunk of chunksOf(size)) {
      arrived += chunk.length
      passed.push(...whole.received(chunk))
      const complete = ends.findLast((end) => end <= arrived) ?? 0
      expect(Buffer.concat(passed).length).toBe(complete)
      if (complete < arrived) expect(() => whole.ended()).toThrow("incomplete envelope")
      else expect(whole.ended()).toEqual([])
    }
    expect(checked).toEqual([0, 3, 0, 300, 7])
    expect(Buffer.concat(passed).equals(bytes)).toBe(true)
  }
})

test("a message that is too large is passed on with its prefix, so that Connect rejects it", () => {
  const whole = new WholeMessages(299, unchecked)
  expect(whole.received(bytes.subarray(0, 22))).toEqual([bytes.subarray(0, 18)])
  expect(Buffer.concat(whole.received(bytes.subarray(22, 23)))).toEqual(bytes.subarray(18, 23))
})

test("a message without a prefix is passed on when it is complete, or too large", () => {
  const checked: Uint8Array[] = []
  const whole = new WholeMessage(3, (message) => void checked.push(message))
  expect([whole.received(Buffer.from("a")), whole.received(Buffer.from("bc"))]).toEqual([[], []])
  expect(Buffer.concat(whole.ended()).toString()).toBe("abc")
  expect(checked.map(String)).toEqual(["abc"])
  const large = new WholeMessage(3, unchecked)
  const passed = ["ab", "cd", "e"].map((text) => Buffer.concat(large.received(Buffer.from(text))).toString())
  expect(passed).toEqual(["", "abcd", "e"])
})
