import { createHash } from "node:crypto"
import {
  PipelineAnswerSchema,
  PipelineCallSchema,
  PipelineRequestSchema,
  PipelineResponseSchema,
} from "@authwire/proto"
import { create, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { decodeResponse, encodeRequest } from "./pipeline-codec.js"

const uint32 = fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 0xffffffff }))
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.constantFrom(new Uint8Array(16_383), new Uint8Array(16_384)),
)
const header = fc.dictionary(fc.stringMatching(/^[0-9a-z_.-]{1,20}$/), fc.string(), { maxKeys: 2 })

const calls = fc.record({
  id: uint32,
  method: fc.stringMatching(/^[\x20-\x7e]{0,200}$/),
  message: bytes,
  timeoutMs: fc.option(uint32, { nil: undefined }),
  header: fc.oneof(fc.constant({}), header),
})

const error = fc.record({ code: fc.nat(16), message: fc.string() })
const answers = fc.record({
  id: uint32,
  outcome: fc.oneof(
    { weight: 4, arbitrary: bytes.map((value) => ({ case: "message" as const, value })) },
    error.map((value) => ({ case: "error" as const, value })),
    fc.constant({ case: undefined }),
  ),
})

describe("requests", () => {
  test("read the same by the general way", () => {
    const requests = fc.record({
      calls: fc.array(calls),
      cancelledIds: fc.oneof(fc.constant<number[]>([]), fc.array(uint32)),
    })
    fc.assert(
      fc.property(requests, (init) => {
        const request = create(PipelineRequestSchema, {
          ...init,
          calls: init.calls.map((call) => create(PipelineCallSchema, call)),
        })
        expect(fromBinary(PipelineRequestSchema, encodeRequest(request))).toEqual(request)
      }),
    )
  })
})

describe("responses", () => {
  const responses = fc
    .record({
      answers: fc.array(answers),
      draining: fc.boolean(),
      settings: fc.option(fc.record({ maxInFlight: uint32, maxMessageBytes: uint32 }), { nil: undefined, freq: 8 }),
    })
    .map((init) =>
      toBinary(
        PipelineResponseSchema,
        create(PipelineResponseSchema, {
          ...init,
          answers: init.answers.map((answer) => create(PipelineAnswerSchema, answer)),
        }),
      ),
    )

  /** What a reader makes of bytes: a message, as its bytes, or an error. */
  const outcomeOf = (read: () => MessageShape<typeof PipelineResponseSchema>) => {
    try {
      const digest = createHash("sha256")
      return digest.update(toBinary(PipelineResponseSchema, read())).digest("hex")
    } catch {
      return "refused"
    }
  }

  test("are read as by the general way", () => {
    fc.assert(
      fc.property(responses, (encoded) => {
        const general = outcomeOf(() => fromBinary(PipelineResponseSchema, encoded))
        expect(outcomeOf(() => decodeResponse(Buffer.from(encoded)))).toBe(general)
      }),
    )
  })

  test("that are cut, changed or anything at all are read, or refused, as by the general way", () => {
    const broken = fc.oneof(
      fc.tuple(responses, fc.nat()).map(([encoded, at]) => encoded.slice(0, at % (encoded.length + 1))),
      fc.tuple(responses, fc.nat(), fc.integer({ min: 1, max: 255 })).map(([encoded, at, change]) => {
        const changed = Uint8Array.from(encoded)
        if (changed.length > 0) (changed[at % changed.length] as number) ^= change
        return changed
      }),
      fc.uint8Array({ maxLength: 40 }),
    )
    fc.assert(
      fc.property(broken, (encoded) => {
        const general = outcomeOf(() => fromBinary(PipelineResponseSchema, encoded))
        expect(outcomeOf(() => decodeResponse(Buffer.from(encoded)))).toBe(general)
      }),
      // The last answer says that it is longer than the rest.
      { numRuns: 3000, examples: [[Uint8Array.of(0x12, 5, 0x08, 1, 0x12, 0)]] },
    )
  })
})
