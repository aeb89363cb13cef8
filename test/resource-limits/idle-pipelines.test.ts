import { PipelineRequestSchema } from "@authwire/proto"
import { enveloped, getUserRequest, header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection } from "@authwire/test-support/attack/streams.js"
import { large, listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const mebibyte = 1024 * 1024
const pipelines = 20

describe("a pipeline whose client has its answers and sends nothing", () => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget({ tellsHeap: true })
  })
  afterAll(() => target.close())
  const ends = endsAfterEach()

  const calls = [{ id: 1, method: "none", message: Buffer.alloc(4_100_000) }]
  const largest = enveloped(toBinary(PipelineRequestSchema, create(PipelineRequestSchema, { calls })))

  test.each(listeners.flatMap((listener) => [[listener, 0] as const, [listener, 3] as const]))(
    "S-42: keeps nothing of its last message (%s, %d bytes of the next one)",
    async (listener, further) => {
      const connection = attackConnection(target.url(listener))
      ends(async () => connection.close())
      const before = await target.heldBytes()
      for (let count = 0; count < pipelines; count++) {
        const one = connection.open(header(paths.pipeline, { key: target.keys.all }))
        await until(() => one.receivedBytes > 0)
        const settings = one.receivedBytes
        one.stream.write(Buffer.concat([largest, Buffer.alloc(further)]))
        await until(() => one.receivedBytes > settings)
      }
      expect((await target.heldBytes()) - before).toBeLessThan(10 * mebibyte)
      expect(connection.openStreams).toBe(pipelines)
    },
  )

  test.each(listeners)("S-42: keeps nothing of its last answer (%s)", async (listener) => {
    const connection = attackConnection(target.url(listener), { initialWindowSize: 4 * mebibyte })
    ends(async () => connection.close())
    await connection.seen()
    connection.session.setLocalWindowSize(64 * mebibyte)
    const message = getUserRequest(large.id).subarray(5)
    const asked = { calls: [1, 2].map((id) => ({ id, method: paths.getUser.slice(1), message })) }
    const frame = enveloped(toBinary(PipelineRequestSchema, create(PipelineRequestSchema, asked)))
    const before = await target.heldBytes()
    for (let count = 0; count < pipelines; count++) {
      const one = connection.open(header(paths.pipeline, { key: target.keys.all }))
      one.stream.write(frame)
      await until(() => one.receivedBytes > 2 * large.image.length)
    }
    expect((await target.heldBytes()) - before).toBeLessThan(2 * mebibyte)
    expect(connection.openStreams).toBe(pipelines)
  })
})
