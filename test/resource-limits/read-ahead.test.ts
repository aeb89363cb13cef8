import { PipelineRequestSchema } from "@authwire/proto"
import { enveloped, getUserRequest, header, paths, prefix } from "@authwire/test-support/attack/requests.js"
import { type AttackConnection, attackConnection, takesNothing } from "@authwire/test-support/attack/streams.js"
import { large, listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const mebibyte = 1024 * 1024
/** The maximum that the windows of HTTP/2 and the socket buffers hold in addition to whole messages. */
const onTheWayBytes = mebibyte

/** A message of a pipeline whose answers have 256 KiB each. Four of them fill the send buffer of a stream. */
const eightLargeAnswers = enveloped(
  toBinary(
    PipelineRequestSchema,
    create(PipelineRequestSchema, {
      calls: Array.from({ length: 8 }, (_, id) => ({
        id,
        method: paths.getUser.slice(1),
        message: getUserRequest(large.id).subarray(5),
      })),
    }),
  ),
)

describe("a pipeline whose answers are not read", () => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget()
  })
  afterAll(() => target.close())
  const ends = endsAfterEach()

  test.each(listeners)("%s listener: two further messages are read, and no more", async (listener) => {
    const connection = attackConnection(target.url(listener), takesNothing)
    ends(async () => connection.close())
    const { stream } = connection.open(header(paths.pipeline, { key: target.keys.all }))
    stream.write(eightLargeAnswers)
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
  })
})

/** Resolves when a value did not change during twenty consecutive pings of the service. */
async function isSettled(connection: AttackConnection, value: () => number): Promise<void> {
  let same = 0
  while (same < 20) {
    const before = value()
    await connection.seen()
    same = value() === before ? same + 1 : 0
  }
}
