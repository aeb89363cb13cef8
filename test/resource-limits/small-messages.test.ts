import { PipelineRequestSchema, PipelineResponseSchema } from "@authwire/proto"
import { enveloped, getUserRequest, header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { limits } from "../../server/src/transport/limits/limits.js"

const call = enveloped(
  toBinary(
    PipelineRequestSchema,
    create(PipelineRequestSchema, {
      calls: [{ id: 1, method: paths.getUser.slice(1), message: getUserRequest("nobody").subarray(5) }],
    }),
  ),
)

let target: Target
beforeAll(async () => {
  target = await startTarget()
})
afterAll(() => target.close())
const ends = endsAfterEach()

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
    stream.write(call)
    const answers = () =>
      messagesOf(Buffer.concat(received)).flatMap((bytes) => fromBinary(PipelineResponseSchema, bytes).answers)
    await until(() => answers().length > 0 || stream.closed)
    expect(answers()).toMatchObject([{ id: 1 }])
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
