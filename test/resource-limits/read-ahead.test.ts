import { PipelineRequestSchema } from "@authwire/proto"
import { enveloped, getUserRequest, header, paths, prefix } from "@authwire/test-support/attack/requests.js"
import { type AttackConnection, attackConnection, takesNothing } from "@authwire/test-support/attack/streams.js"
import { large, listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const mebibyte = 1024 * 1024
/** What the windows of HTTP/2 and the buffers of the sockets hold beside whole messages, at the most. */
const onTheWayBytes = mebibyte

/** A message of a pipeline: answers of 256 KiB, four of which fill what may wait on a stream. */
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

describe("a pipeline whose answers are not taken", () => {
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
    // One part after the other, or HTTP/2 would say that they are taken when all of them are.
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

/** Resolves when the service has answered twenty times in a row while a number stayed what it was. */
async function isSettled(connection: AttackConnection, value: () => number): Promise<void> {
  let same = 0
  while (same < 20) {
    const before = value()
    await connection.seen()
    same = value() === before ? same + 1 : 0
  }
}
