import { PipelineRequestSchema } from "@authwire/proto"
import { create, toBinary } from "@bufbuild/protobuf"
import type { FrameInput } from "../inputs.ts"
import type { Random } from "../random.ts"
import { requestBytes } from "./calls.ts"
import { strangeHeader } from "./headers.ts"
import { canary, odd, unaryMethods } from "./messages.ts"
import { mutateMessage } from "./mutations.ts"

const strangeMethods = [
  "",
  "/",
  "a/b",
  "authwire.v1.UserService/getUser",
  "authwire.v1.PipelineService/Pipeline",
  "grpc.health.v1.Health/Watch",
  "__proto__",
  "constructor",
  "x".repeat(255),
]

function randomCallFrame(random: Random, id: number) {
  const method = random.pick(unaryMethods)
  const header: Record<string, string> = {}
  if (random.chance(0.1)) {
    const [name, value] = strangeHeader(random)
    // A frame must follow all rules of the stream.
    if (/^[0-9a-z_.-]{1,255}$/.test(name) && Buffer.byteLength(value) <= 8192)
      Object.defineProperty(header, name, { value, enumerable: true })
  }
  return {
    id,
    method: random.chance(0.97) ? `${method.parent.typeName}/${method.name}` : random.pick(strangeMethods.slice(1)),
    message: requestBytes(random, method),
    header,
    ...(random.chance(0.1) ? { timeoutMs: random.pick([0, 1, 50, 0xffffffff]) } : {}),
  }
}

/**
 * Returns a frame that follows the rules of the stream. The requests in it may violate any rule. Their ids start at
 * `firstId`.
 */
export function randomFrame(random: Random, firstId: number): FrameInput {
  const calls = Array.from({ length: 1 + random.below(3) }, (_, index) => randomCallFrame(random, firstId + index))
  // No call has one of these ids.
  const cancelledIds = random.chance(0.1) ? [random.below(1000), 0xffffffff] : []
  const bytes = toBinary(PipelineRequestSchema, create(PipelineRequestSchema, { calls, cancelledIds }))
  return { kind: "frame", bytes: Buffer.from(bytes), ids: calls.map(({ id }) => id) }
}

/** Returns a frame that may violate a rule of the stream, which then ends. */
export function brokenFrame(random: Random): FrameInput {
  return { kind: "frame", bytes: brokenBytes(random) }
}

function brokenBytes(random: Random): Buffer {
  // Ids that no other frame uses.
  const id = () => random.pick([random.below(1000), 0x7fffffff, 0xffffffff])
  const call = randomCallFrame(random, id())
  const write = (init: { calls?: (typeof call)[]; cancelledIds?: number[] }) =>
    Buffer.from(toBinary(PipelineRequestSchema, create(PipelineRequestSchema, init)))
  const many = (count: number) => Array.from({ length: count }, (_, index) => index)
  switch (random.below(random.chance(0.02) ? 9 : 7)) {
    case 0:
      // A duplicate id.
      return write({ calls: [call, call] })
    case 1:
      // Starts a call and cancels it twice.
      return Buffer.concat([write({ calls: [call] }), write({ cancelledIds: [call.id, call.id] })])
    case 2:
      return write({ calls: [{ ...call, method: random.pick(strangeMethods) }] })
    case 3:
      return write({ calls: [{ ...call, header: { [random.pick([...odd, "UPPER", "x"])]: random.pick(odd) } }] })
    case 4:
      return write({
        calls: [
          {
            ...call,
            header: Object.fromEntries(many(random.pick([63, 64, 65, 1000])).map((at) => [`x${at}`, canary])),
          },
        ],
      })
    case 5:
    case 6:
      return mutateMessage(random, write({ calls: [call, randomCallFrame(random, id())], cancelledIds: [id()] }))
    case 7:
      return write({ cancelledIds: many(random.pick([4095, 4096, 4097, 20_000])) })
    default:
      return write({
        calls: many(random.pick([1500, 4097])).map((at) => ({ ...call, id: at, message: Buffer.alloc(0) })),
      })
  }
}
