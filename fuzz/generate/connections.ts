import { PipelineService, UserService } from "@authwire/proto"
import { Health } from "@authwire/proto/health"
import { ServerReflection } from "@authwire/proto/reflection/v1"
import type { DescMethod } from "@bufbuild/protobuf"
import type { ConnectionInput, ListenerName } from "../inputs.ts"
import type { Random } from "../random.ts"
import { envelope, requestBytes } from "./calls.ts"
import { authorization, strangeHeader } from "./headers.ts"
import {
  dataFrames,
  flags,
  headerBlock,
  headersFrame,
  http2Frame,
  preface,
  resetFrame,
  settingsFrame,
  types,
  windowFrame,
} from "./http2-frames.ts"
import { methods, pathOf } from "./messages.ts"
import { lengthDelimited } from "./mutations.ts"

/**
 * Returns the bytes of an HTTP/2 connection that stays open. It withholds something, and the server must not block on
 * it.
 */
export function randomConnection(random: Random): ConnectionInput {
  const transport = random.pick(["grpc", "http"] as const)
  const make = random.pick([windows, windows, partialMessages, halfClosedStreams, cutHeaderBlocks])
  const frames = [settingsFrame([]), ...make(random, transport)]
  const cuts: number[] = []
  let length = preface.length
  for (const frame of frames) {
    length += frame.length
    if (random.chance(0.3)) cuts.push(length)
  }
  return {
    kind: "connection",
    transport,
    bytes: Buffer.concat([preface, ...frames]),
    cuts,
    reads: random.chance(0.9),
    // In the middle of a header block a ping would end the connection.
    pings: make === cutHeaderBlocks ? random.chance(0.5) : true,
    holdMs: random.chance(0.02) ? 1000 : random.pick([0, 10, 10, 50, 50, 200]),
  }
}

type Shape = (random: Random, transport: ListenerName) => Buffer[]

const initialWindow = 4
const largestWindow = 0x7fffffff
/**
 * The number of bytes that a sender may send before a window update (RFC 9113, section 6.9.2), less a few frames.
 */
const connectionWindow = 60_000
const ids = (count: number) => Array.from({ length: count }, (_, index) => 2 * index + 1)

/** Requests whose answers cannot be sent: their window is zero, tiny, shrinking or too large. */
const windows: Shape = (random, transport) => {
  const streams = ids(1 + random.below(30))
  const opened = streams.flatMap((id) => {
    const method = randomMethod(random)
    const body = framed(random, transport, method, requestBytes(random, method))
    // Some streams stay open, so that they may have many answers.
    return [headersFrame(id, fields(random, transport, method)), ...dataFrames(id, body, random.chance(0.7))]
  })
  // A frame that ends the connection comes last, because the frames before it would otherwise have no effect.
  const last = random.chance(0.1)
    ? [
        random.pick([
          windowFrame(random.pick([0, ...streams]), random.pick([0, largestWindow])),
          settingsFrame([[initialWindow, largestWindow + 1]]),
        ]),
      ]
    : []
  const changes = Array.from({ length: random.below(40) }, () => {
    const stream = random.pick([0, ...streams])
    if (random.chance(0.3)) return settingsFrame([[initialWindow, random.pick([0, 1, 100, 65_535])]])
    if (random.chance(0.1)) return resetFrame(stream || 1, random.below(16))
    return windowFrame(stream, random.pick([1, 1, 1, 5, 100, 10_000]))
  })
  return [
    settingsFrame([[initialWindow, random.pick([0, 0, 1, 5, 100, 65_535, largestWindow])]]),
    ...opened,
    ...changes,
    ...last,
  ]
}

/** Messages that are shorter than announced. */
const partialMessages: Shape = (random, transport) =>
  ids(1 + random.below(20)).flatMap((id, _, all) => {
    const method = randomMethod(random)
    // The window of the connection is shared by all streams.
    const most = Math.floor(connectionWindow / all.length)
    const bytes = random.chance(0.7) ? requestBytes(random, method).subarray(0, most) : Buffer.alloc(random.below(most))
    const promised = random.pick([
      bytes.length + 1,
      bytes.length + 1000,
      4_194_304,
      4_194_305,
      largestWindow,
      0xffffffff,
    ])
    const body = envelope(bytes, random.pick([0, 0, 0, 1, 2, 128]), promised)
    const cut = random.chance(0.2) ? body.subarray(0, random.below(6)) : body
    const unary = [["content-length", String(promised)] as const]
    const more = method.methodKind === "unary" && random.chance(0.2) ? unary : []
    const end = random.pick([
      [],
      [],
      [],
      [resetFrame(id, random.below(16))],
      [http2Frame(types.data, flags.endStream, id, Buffer.alloc(0))],
    ])
    return [headersFrame(id, [...fields(random, transport, method), ...more]), ...dataFrames(id, cut, false), ...end]
  })

/** Streams that end too early, too late, never, or in the middle of a message. The last stream may end twice. */
const halfClosedStreams: Shape = (random, transport) =>
  ids(1 + random.below(20)).flatMap((id, index, all) => {
    const method = randomMethod(random)
    const headers = fields(random, transport, method)
    const body = framed(random, transport, method, requestBytes(random, method))
    const open = headersFrame(id, headers)
    const half = body.subarray(0, random.below(body.length + 1))
    const trailers = headerBlock([["x-trailer", "1"]])
    // The last three cases end the connection.
    switch (random.below(index === all.length - 1 ? 8 : 5)) {
      case 0:
        return [headersFrame(id, headers, flags.endStream)]
      case 1:
        return [open, ...dataFrames(id, body, false)]
      case 2:
        return [open, ...dataFrames(id, half, true)]
      case 3:
        return [open, ...dataFrames(id, half, false), resetFrame(id, random.below(16))]
      case 4:
        return [
          open,
          ...dataFrames(id, random.pick([body, half]), false),
          http2Frame(types.headers, flags.endHeaders | flags.endStream, id, trailers),
        ]
      case 5:
        return [open, ...dataFrames(id, half, false), http2Frame(types.headers, flags.endHeaders, id, trailers)]
      case 6:
        return [headersFrame(id, headers, flags.endStream), ...dataFrames(id, body, true)]
      default:
        return [open, ...dataFrames(id, body, true), ...dataFrames(id, body, random.chance(0.5))]
    }
  })

/** Header blocks in pieces that may never be complete, with other frames between the pieces. */
const cutHeaderBlocks: Shape = (random, transport) =>
  ids(1 + random.below(3)).flatMap((id, index, all) => {
    const method = randomMethod(random)
    const many = Array.from({ length: random.pick([0, 0, 10, 500]) }, (_, at) => [`x-${at}`, "v".repeat(30)] as const)
    const block = headerBlock([...fields(random, transport, method), ...many])
    const pieces: Buffer[] = []
    for (let at = 0; at < block.length; ) {
      const end = Math.min(block.length, at + random.pick([0, 1, 10, 100, 16_384]))
      pieces.push(block.subarray(at, end))
      at = end
    }
    const isLast = index === all.length - 1
    const whole = !isLast || random.chance(0.4)
    const frames = pieces.map((piece, at) =>
      http2Frame(
        at === 0 ? types.headers : types.continuation,
        whole && at === pieces.length - 1 ? flags.endHeaders : 0,
        id,
        piece,
      ),
    )
    if (!whole && random.chance(0.5)) return frames
    if (isLast && random.chance(0.3))
      frames.splice(random.below(frames.length), 0, http2Frame(types.ping, 0, 0, Buffer.alloc(8)))
    return [...frames, ...dataFrames(id, framed(random, transport, method, requestBytes(random, method)), true)]
  })

const largeAnswer = lengthDelimited(4, Buffer.from(UserService.typeName))
const named = [
  UserService.method.getUser,
  Health.method.check,
  Health.method.watch,
  ServerReflection.method.serverReflectionInfo,
  PipelineService.method.pipeline,
]

/** Returns mostly one method of each kind: unary, health, reflection, pipeline. */
function randomMethod(random: Random): DescMethod {
  return random.chance(0.8) ? random.pick(named) : random.pick(methods)
}

/** Frames a request as the listener expects it. Reflection mostly gets a request with a large answer. */
function framed(random: Random, transport: ListenerName, method: DescMethod, bytes: Buffer): Buffer {
  if (method === ServerReflection.method.serverReflectionInfo && random.chance(0.8)) return envelope(largeAnswer)
  return transport === "http" && method.methodKind === "unary" && random.chance(0.3) ? bytes : envelope(bytes)
}

const pseudo = (method: DescMethod) =>
  [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", pathOf(method)],
    [":authority", "localhost"],
  ] as const

function fields(random: Random, transport: ListenerName, method: DescMethod): (readonly [string, string])[] {
  const type =
    transport === "grpc"
      ? "application/grpc"
      : random.pick(["application/grpc", "application/grpc-web", "application/proto", "application/connect+proto"])
  return [
    ...pseudo(method),
    ["content-type", type],
    ["te", "trailers"],
    // An invalid API key, because authenticated and unauthenticated requests are handled differently.
    ...(random.chance(0.3) ? [["authorization", authorization(random)] as const] : []),
    ...(random.chance(0.1) ? [strangeHeader(random)] : []),
  ]
}
