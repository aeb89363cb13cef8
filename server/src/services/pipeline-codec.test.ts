import { createHash } from "node:crypto"
import {
  PipelineAnswerSchema,
  PipelineCallSchema,
  type PipelineRequest,
  PipelineRequestSchema,
  PipelineResponseSchema,
} from "@authwire/proto"
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { pipelineCodec } from "./pipeline-codec.js"

const uint32 = fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 0xffffffff }))
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.constantFrom(new Uint8Array(16_383), new Uint8Array(16_384)),
)
const header = fc.dictionary(fc.stringMatching(/^[0-9a-z_.-]{1,20}$/), fc.string(), { maxKeys: 2 })

const requests = fc
  .record({
    calls: fc.array(
      fc.record({
        id: uint32,
        method: fc.oneof({ weight: 4, arbitrary: fc.stringMatching(/^[\x20-\x7e]{0,200}$/) }, fc.string()),
        message: bytes,
        timeoutMs: fc.option(uint32, { nil: undefined }),
        header: fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, header),
      }),
    ),
    cancelledIds: fc.oneof({ weight: 4, arbitrary: fc.constant<number[]>([]) }, fc.array(uint32)),
  })
  .map((init) =>
    toBinary(
      PipelineRequestSchema,
      create(PipelineRequestSchema, { ...init, calls: init.calls.map((call) => create(PipelineCallSchema, call)) }),
    ),
  )

/** What a reader makes of bytes: a message, as its bytes, or an error. */
function outcomeOf(read: () => Message) {
  try {
    const digest = createHash("sha256")
    return digest.update(toBinary(PipelineRequestSchema, read() as PipelineRequest)).digest("hex")
  } catch {
    return "refused"
  }
}

describe("requests", () => {
  test("are read as by the general way", () => {
    fc.assert(
      fc.property(requests, (encoded) => {
        const general = outcomeOf(() => fromBinary(PipelineRequestSchema, encoded))
        expect(outcomeOf(() => pipelineCodec.decode(Buffer.from(encoded)))).toBe(general)
      }),
    )
  })

  test("that are cut, changed or anything at all are read, or refused, as by the general way", () => {
    const broken = fc.oneof(
      fc.tuple(requests, fc.nat()).map(([encoded, at]) => encoded.slice(0, at % (encoded.length + 1))),
      fc.tuple(requests, fc.nat(), fc.integer({ min: 1, max: 255 })).map(([encoded, at, change]) => {
        const changed = Uint8Array.from(encoded)
        if (changed.length > 0) (changed[at % changed.length] as number) ^= change
        return changed
      }),
      fc.uint8Array({ maxLength: 40 }),
    )
    fc.assert(
      fc.property(broken, (encoded) => {
        const general = outcomeOf(() => fromBinary(PipelineRequestSchema, encoded))
        expect(outcomeOf(() => pipelineCodec.decode(Buffer.from(encoded)))).toBe(general)
      }),
      { numRuns: 3000 },
    )
  })
})

describe("responses", () => {
  test("read the same by the general way", () => {
    const error = fc.record({ code: fc.nat(16), message: fc.string() })
    const answers = fc.record({
      id: uint32,
      outcome: fc.oneof(
        { weight: 8, arbitrary: bytes.map((value) => ({ case: "message" as const, value })) },
        error.map((value) => ({ case: "error" as const, value })),
      ),
    })
    const responses = fc.record({
      answers: fc.array(answers),
      draining: fc.boolean(),
      settings: fc.option(fc.record({ maxInFlight: uint32, maxMessageBytes: uint32 }), { nil: undefined, freq: 2 }),
    })
    fc.assert(
      fc.property(responses, (init) => {
        const answers = init.answers.map((answer) => create(PipelineAnswerSchema, answer))
        const response = create(PipelineResponseSchema, { ...init, answers })
        const encoded = pipelineCodec.encode(response)
        expect(fromBinary(PipelineResponseSchema, encoded)).toEqual(response)
        expect(encoded.length).toBe(toBinary(PipelineResponseSchema, response).length)
      }),
    )
  })
})
