import { PipelineService, UserService } from "@authwire/proto"
import { Health } from "@authwire/proto/health"
import { ServerReflection } from "@authwire/proto/reflection/v1"
import type { DescMethod } from "@bufbuild/protobuf"
import { envelope } from "./generate/calls.ts"
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
} from "./generate/http2-frames.ts"
import { pathOf } from "./generate/messages.ts"
import { lengthDelimited } from "./generate/mutations.ts"
import type { NamedInput } from "./inputs.ts"

const initialWindow = 4
const streams = Array.from({ length: 500 }, (_, index) => 2 * index + 1)
const symbol = envelope(lengthDelimited(4, Buffer.from(UserService.typeName)))
const anybody = envelope(lengthDelimited(1, Buffer.from("anybody")))
const empty = envelope(Buffer.alloc(0))

/**
 * Returns HTTP/2 connections that cost their sender little: with answers that cannot be sent, and with endless frames.
 */
export function hostileConnections(): NamedInput[] {
  const { getUser } = UserService.method
  const { serverReflectionInfo } = ServerReflection.method
  const untaken = [
    unread("reflection", serverReflectionInfo, symbol),
    unread("Health/Watch", Health.method.watch, empty),
    unread("GetUser", getUser, anybody),
    unread("pipelines", PipelineService.method.pipeline, empty),
  ]
  const partial = [getUser, Health.method.check, serverReflectionInfo, PipelineService.method.pipeline].flatMap(
    (method) =>
      both(
        `500 messages of 4 MiB of which 100 bytes come, ${method.name}`,
        streams.flatMap((id) => [
          headersFrame(id, fields(method)),
          ...dataFrames(id, envelope(Buffer.alloc(100), 0, 4_194_304), false),
        ]),
      ),
  )
  const many = (count: number, frame: (index: number) => Buffer) => Array.from({ length: count }, (_, at) => frame(at))
  const open = headersFrame(1, fields(getUser))
  const block = headerBlock(fields(getUser))
  const floods = [
    both("a header block that never ends", [
      http2Frame(types.headers, 0, 1, block),
      ...many(20_000, (at) => http2Frame(types.continuation, 0, 1, headerBlock([[`x-${at}`, "v".repeat(50)]]))),
    ]),
    both("50,000 empty pieces of a header block", [
      http2Frame(types.headers, 0, 1, block),
      ...many(50_000, () => http2Frame(types.continuation, 0, 1, Buffer.alloc(0))),
    ]),
    both("50,000 windows one byte larger", [open, ...many(50_000, () => windowFrame(1, 1))]),
    both(
      "50,000 settings",
      many(50_000, (at) => settingsFrame([[initialWindow, at % 2]])),
    ),
    both(
      "50,000 pings",
      many(50_000, () => http2Frame(types.ping, 0, 0, Buffer.alloc(8))),
    ),
    both("50,000 pieces of no data", [open, ...many(50_000, () => http2Frame(types.data, 0, 1, Buffer.alloc(0)))]),
    both(
      "20,000 calls that are given up at once",
      many(20_000, (at) =>
        Buffer.concat([headersFrame(2 * at + 1, fields(getUser), flags.endStream), resetFrame(2 * at + 1, 8)]),
      ),
    ),
  ]
  return [...untaken, ...partial, ...floods].flat()
}

/** Returns calls whose answers have a flow-control window of zero. */
function unread(name: string, method: DescMethod, body: Buffer): NamedInput[] {
  const calls = streams.flatMap((id) => [headersFrame(id, fields(method)), ...dataFrames(id, body, false)])
  return both(`500 answers that nobody takes, ${name}`, [settingsFrame([[initialWindow, 0]]), ...calls])
}

function both(name: string, frames: readonly Buffer[]): NamedInput[] {
  const bytes = Buffer.concat([preface, settingsFrame([]), ...frames])
  return (["grpc", "http"] as const).map((transport) => ({
    name: `${name}, at the ${transport} transport`,
    input: { kind: "connection", transport, bytes, cuts: [], reads: true, pings: true, holdMs: 500 },
  }))
}

function fields(method: DescMethod): (readonly [string, string])[] {
  return [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", pathOf(method)],
    [":authority", "localhost"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
  ]
}
