import { header, paths, prefix } from "@authwire/test-support/attack/requests.js"
import { type AttackConnection, attackConnection } from "@authwire/test-support/attack/streams.js"
import { startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals"

const mebibyte = 2 ** 20
/** The largest message. */
const announced = 4 * mebibyte

// Connect allocates a message as soon as it knows its length, from the prefix or from the header.
describe("S-39: the announced length of a message takes no memory before the message has arrived", () => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget({ tellsHeap: true })
  })
  afterAll(() => target.close())
  const connections: AttackConnection[] = []
  afterEach(() => {
    for (const connection of connections.splice(0)) connection.close()
  })

  test.each([
    ["health over gRPC", paths.check, "application/grpc", 50, 1],
    ["health over Connect, as a stream", paths.watch, "application/connect+proto", 50, 1],
    ["health over Connect, by its header", paths.check, "application/proto", 50, 1],
    ["with a key, over gRPC", paths.pipeline, "application/grpc", 1, 50],
  ])("%s", async (_, path, type, count, streams) => {
    // Collects what the test before has left.
    await target.heldBytes()
    const before = await target.bufferBytes()
    const key = streams > 1 ? target.keys.all : undefined
    const length = type === "application/proto" && { "content-length": `${announced}` }
    const calls = []
    for (let n = 0; n < count; n++) {
      const connection = attackConnection(target.url("http"))
      connections.push(connection)
      for (let n = 0; n < streams; n++) {
        const call = connection.open({ ...header(path, { key, type }), ...length })
        call.stream.write(prefix(announced))
        calls.push(call)
      }
    }
    for (const connection of connections) await connection.seen()
    for (const connection of connections) await connection.seen()
    const taken = (await target.bufferBytes()) - before
    expect(calls.filter(({ open }) => open)).toHaveLength(50)
    expect(taken).toBeLessThan(16 * mebibyte)
  })
})
