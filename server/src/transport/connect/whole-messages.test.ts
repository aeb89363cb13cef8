import { expect, test } from "@jest/globals"
import { withPrefix } from "../listener/prefix.js"
import { WholeMessage, WholeMessages } from "./whole-messages.js"

const empty = Buffer.from("{}")

const messages = [0, 3, 0, 300, 7].map((length) => Buffer.alloc(length, length))
const bytes = Buffer.concat(messages.map((message) => withPrefix(0, message)))
const chunksOf = (size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size))

test("of messages in chunks of any size Connect gets an empty one each, when it is complete, and the method all bytes", () => {
  const ends = [5, 13, 18, 323, 335]
  for (let size = 1; size <= bytes.length; size++) {
    const whole = new WholeMessages(300, empty)
    const passed: Uint8Array[] = []
    let arrived = 0
    for (const chunk of chunksOf(size)) {
      arrived += chunk.length
      passed.push(...whole.received(chunk))
      expect(passed).toHaveLength(ends.filter((end) => end <= arrived).length)
      if (ends.includes(arrived)) expect(whole.ended()).toEqual([])
      else expect(() => whole.ended()).toThrow("incomplete envelope")
    }
    expect(passed).toEqual(messages.map(() => withPrefix(0, empty)))
    expect(messages.map(() => whole.next())).toEqual(messages)
    expect(() => whole.next()).toThrow("has not arrived")
  }
})

test("S-42: a small message that waits does not keep a large one in memory that arrived with it and was read", () => {
  const whole = new WholeMessages(2 ** 20, empty)
  const large = withPrefix(0, Buffer.alloc(2 ** 20))
  whole.received(large.subarray(0, -10))
  whole.received(Buffer.concat([large.subarray(-10), withPrefix(0, Buffer.from("abc"))]))
  expect(whole.next()).toHaveLength(2 ** 20)
  const small = whole.next()
  expect([Buffer.from(small).toString(), small.buffer.byteLength]).toEqual(["abc", 3])
})

test("Connect gets a message with any flag as an empty compressed one, which it rejects, and the method does not get it", () => {
  for (const flags of [1, 2, 4, 0x40, 0x80, 0xff]) {
    const whole = new WholeMessages(300, empty)
    const flagged = withPrefix(flags, Buffer.from("abc"))
    const passed = whole.received(Buffer.concat([flagged, bytes.subarray(5, 13), flagged]))
    expect(passed).toEqual([withPrefix(1, Buffer.of()), withPrefix(0, empty), withPrefix(1, Buffer.of())])
    expect(whole.next()).toEqual(messages[1])
    expect(() => whole.next()).toThrow("has not arrived")
  }
})

test("a message that is too large is passed on with its prefix, so that Connect rejects it", () => {
  const whole = new WholeMessages(299, empty)
  expect(whole.received(bytes.subarray(0, 22))).toEqual(Array.from({ length: 3 }, () => withPrefix(0, empty)))
  expect(Buffer.concat(whole.received(bytes.subarray(22, 23)))).toEqual(bytes.subarray(18, 23))
  // Also if it is complete.
  const [small, large] = [withPrefix(0, Buffer.alloc(299)), withPrefix(0, Buffer.alloc(300))]
  const passed = new WholeMessages(299, empty).received(Buffer.concat([small, large, small]))
  expect(Buffer.concat(passed)).toEqual(Buffer.concat([withPrefix(0, empty), large, small]))
})

test("a message without a prefix is complete at the end of the request, and passed on as it is once it is too large", () => {
  const whole = new WholeMessage(3, empty)
  expect([whole.received(Buffer.from("a")), whole.received(Buffer.from("bc"))]).toEqual([[], []])
  expect(whole.ended()).toEqual([empty])
  expect(whole.next().toString()).toBe("abc")
  const large = new WholeMessage(3, empty)
  const passed = ["ab", "cd", "e"].map((text) => Buffer.concat(large.received(Buffer.from(text))).toString())
  expect(passed).toEqual(["", "abcd", "e"])
})
