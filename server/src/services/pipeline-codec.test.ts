import { createHash } from "node:crypto"
import {
  PipelineAnswerSchema,
  PipelineCallSchema,
  type PipelineRequest,
  PipelineRequestSchema,
  PipelineResponseSchema,
} from "@authwire/proto"
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf"
import { createValidator } from "@bufbuild/protovalidate"
import { describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { keepsRules } from "../dispatch/validation.js"
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
    // A single byte after the message of a call that begins no time-out.
    const trailing = Uint8Array.of(10, 9, 8, 1, 18, 1, 97, 26, 1, 0, 1)
    fc.assert(
      fc.property(broken, (encoded) => {
        const general = outcomeOf(() => fromBinary(PipelineRequestSchema, encoded))
        expect(outcomeOf(() => pipelineCodec.decode(Buffer.from(encoded)))).toBe(general)
      }),
      { numRuns: 3000, examples: [[trailing]] },
    )
  })
})

describe("the rules of the schema", () => {
  const validator = createValidator()
  /** Whether a request says of itself that it keeps the rules, and whether it does. */
  const read = (encoded: Uint8Array) => {
    const request = pipelineCodec.decode(Buffer.from(encoded))
    const says = keepsRules in request
    return { says, keeps: validator.validate(PipelineRequestSchema, request as PipelineRequest).kind === "valid" }
  }
  const ofCalls = (calls: { id: number; method: string; message: Uint8Array }[]) =>
    toBinary(
      PipelineRequestSchema,
      create(PipelineRequestSchema, { calls: calls.map((call) => create(PipelineCallSchema, call)) }),
    )

  test("are kept by every request of which the reader says so", () => {
    fc.assert(
      fc.property(requests, (encoded) => {
        const { says, keeps } = read(encoded)
        expect(keeps || !says).toBe(true)
      }),
    )
  })

  test.each([
    ["a call", 1, 10, 1, true],
    ["as many calls as there may be", 4096, 1, 1, true],
    ["a call more", 4097, 1, 1, false],
    ["no method", 1, 0, 1, false],
    ["the longest name of a method", 1, 255, 1, true],
    ["a longer one", 1, 256, 1, false],
    ["the largest message", 1, 10, 67_108_864, true],
    ["a larger one", 1, 10, 67_108_865, false],
  ])("are seen to for a request with %s", (_what, count, methodBytes, messageBytes, keeps) => {
    const message = new Uint8Array(messageBytes)
    const calls = Array.from({ length: count }, () => ({ id: 7, method: "m".repeat(methodBytes), message }))
    expect(read(ofCalls(calls))).toEqual({ says: keeps, keeps })
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
