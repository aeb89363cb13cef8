import { expect, test } from "@jest/globals"
import fc from "fast-check"
import { Envelopes } from "./envelopes.js"

function envelope(length: number): Buffer {
  const bytes = Buffer.alloc(5 + length, 0xff)
  bytes[0] = 0
  bytes.writeUInt32BE(length, 1)
  return bytes
}

test("messages are counted correctly for any split of their bytes", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(400), { maxLength: 8 }),
      fc.nat(300),
      fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1 }),
      (lengths, missing, cuts) => {
        const body = Buffer.concat(lengths.map(envelope))
        const sent = body.subarray(0, Math.max(body.length - missing, 0))
        const envelopes = new Envelopes()
        for (let at = 0, turn = 0; at < sent.length; turn++) {
          const size = cuts[turn % cuts.length] as number
          envelopes.read(sent.subarray(at, at + size))
          at += size
        }
        let whole = 0
        let left = sent.length
        for (const length of lengths) {
          if (left < length + 5) break
          left -= length + 5
          whole++
        }
        expect([envelopes.whole, envelopes.partialBytes]).toEqual([whole, left])
      },
    ),
  )
})

test("a length of four bytes is read as an unsigned integer", () => {
  const envelopes = new Envelopes()
  envelopes.read(Uint8Array.of(0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3))
  expect([envelopes.whole, envelopes.partialBytes]).toEqual([0, 8])
})
