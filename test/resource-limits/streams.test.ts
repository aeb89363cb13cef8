import { once } from "node:events"
import { PipelineRequestSchema, PipelineResponseSchema } from "@authwire/proto"
import { enveloped, getUserRequest, header, paths, prefix } from "@authwire/test-support/attack/requests.js"
import { type AttackConnection, attackConnection, endOf, takesNothing } from "@authwire/test-support/attack/streams.js"
import { large, listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { limits } from "../../server/src/transport/limits/limits.js"

let target: Target
beforeAll(async () => {
  target = await startTarget()
})
afterAll(() => target.close())
const ends = endsAfterEach()

/** A message of a pipeline with calls of GetUser. */
const callsOf = (id: string, count: number) =>
  enveloped(
    toBinary(
      PipelineRequestSchema,
      create(PipelineRequestSchema, {
        calls: Array.from({ length: count }, (_, n) => ({
          id: n,
          method: paths.getUser.slice(1),
          message: getUserRequest(id).subarray(5),
        })),
      }),
    ),
  )

test.each(listeners)(
  "%s listener: the status of a pipeline whose deadline passes while a response is sent follows that response",
  async (listener) => {
    const connection = attackConnection(target.url(listener), takesNothing)
    ends(async () => connection.close())
    const call = connection.open({ ...header(paths.pipeline, { key: target.keys.all }), "grpc-timeout": "200m" })
    const passed = performance.now() + 400
    while (performance.now() < passed) await connection.seen()
    expect(call.open).toBe(true)
    connection.session.settings({ initialWindowSize: 65_535 })
    expect(await endOf(call)).toBe("4 NO_ERROR")
    expect(call.receivedBytes).toBeGreaterThan(0)
  },
)

const mebibyte = 1024 * 1024
/** The maximum that the windows of HTTP/2 and the socket buffers hold in addition to whole messages. */
const onTheWayBytes = mebibyte

test.each(listeners)(
  "%s listener: of a pipeline whose answers are not read, two further messages are read, and no more",
  async (listener) => {
    const connection = attackConnection(target.url(listener), takesNothing)
    ends(async () => connection.close())
    const { stream } = connection.open(header(paths.pipeline, { key: target.keys.all }))
    // Each answer has 256 KiB. Four of them fill the send buffer of a stream.
    stream.write(callsOf(large.id, 8))
    const message = Buffer.concat([prefix(mebibyte), Buffer.alloc(mebibyte)])
    const bytes = Buffer.concat(Array(20).fill(message))
    let takenBytes = 0
    // One part after another, because HTTP/2 reports a write only when all of its data was accepted.
    const send = () => {
      const part = bytes.subarray(takenBytes, takenBytes + 16_384)
      stream.write(part, (error) => {
        if (error != null) return
        takenBytes += part.length
        if (takenBytes < bytes.length) send()
      })
    }
    send()
    await until(() => takenBytes > 0)
    await isSettled(connection, () => takenBytes)
    expect(stream.destroyed).toBe(false)
    expect(takenBytes).toBeLessThanOrEqual(2 * message.length + onTheWayBytes)
  },
)

/** Resolves when a value did not change during twenty consecutive pings of the service. */
async function isSettled(connection: AttackConnection, value: () => number): Promise<void> {
  let same = 0
  while (same < 20) {
    const before = value()
    await connection.seen()
    same = value() === before ? same + 1 : 0
  }
}

test.each(listeners)(
  "%s listener: a pipeline may have any number of small messages, one after the other",
  async (listener) => {
    const connection = attackConnection(target.url(listener))
    ends(async () => connection.close())
    const { stream } = connection.open(header(paths.pipeline, { key: target.keys.all }))
    const received: Buffer[] = []
    stream.on("data", (chunk: Buffer) => received.push(chunk))
    // If a message counted against the budget for longer than until it is read, the stream would be reset.
    stream.write(Buffer.alloc(5 * 2 * (limits.requestBytes / limits.chunkBytes)))
    stream.write(callsOf("nobody", 1))
    const answers = () =>
      messagesOf(Buffer.concat(received)).flatMap((bytes) => fromBinary(PipelineResponseSchema, bytes).answers)
    await until(() => answers().length > 0 || stream.closed)
    expect(answers()).toMatchObject([{ id: 0 }])
  },
)

function messagesOf(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1)
    messages.push(bytes.subarray(at + 5, end))
    at = end
  }
  return messages
}

describe("a call whose request continues after its deadline, and cannot be decoded", () => {
  // The decoder finds that the request is malformed after the call was answered. A second answer would end the process.
  const broken: Record<string, [first: Buffer, rest: Buffer, statusOfGrpc: string]> = {
    // The gRPC listener rejects this one by its first byte, before the deadline.
    "not compressed as it says": [Buffer.from("0100000004ffff", "hex"), Buffer.from("ffff", "hex"), "13"],
    "larger than any may be": [Buffer.from("00", "hex"), Buffer.from("ffffffff", "hex"), "4"],
  }
  const cases = listeners.flatMap((listener) =>
    [paths.getUser, paths.pipeline, paths.reflection].flatMap((path) =>
      Object.entries(broken).map(([what, [first, rest, onGrpc]]) => ({ listener, path, what, first, rest, onGrpc })),
    ),
  )
  test.each(cases)("$listener listener, $path, $what", async ({ listener, path, first, rest, onGrpc }) => {
    const connection = attackConnection(target.url(listener))
    ends(async () => connection.close())
    const call = connection.open({
      ...header(path, { key: target.keys.all }),
      "grpc-timeout": "300m",
    })
    call.stream.write(first)
    const [answer] = await once(call.stream, "response")
    if (answer["grpc-status"] === undefined) await once(call.stream, "trailers")
    expect(call.status).toBe(listener === "grpc" ? onGrpc : "4")
    call.stream.end(rest)
    await call.closed
    await connection.seen()
    expect((await fetch(`${target.server.httpUrl}/healthz`)).ok).toBe(true)
  })
})
