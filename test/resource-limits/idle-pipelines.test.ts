import { PipelineRequestSchema } from "@authwire/proto"
import { enveloped, header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
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
  const large = enveloped(toBinary(PipelineRequestSchema, create(PipelineRequestSchema, { calls })))

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
        one.stream.write(Buffer.concat([large, Buffer.alloc(further)]))
        await until(() => one.receivedBytes > settings)
      }
      expect((await target.heldBytes()) - before).toBeLessThan(10 * mebibyte)
      expect(connection.openStreams).toBe(pipelines)
    },
  )
})
