import { buffer } from "node:stream/consumers"
import { gzipSync } from "node:zlib"
import { header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const large = 4 * 2 ** 20 - 100
const packed = gzipSync(Buffer.alloc(large))
/** The stream limit of a connection without a key, and its limit of pipelines with one. */
const streams = 16
const pipelines = 8

describe.each(listeners)("compressed requests at the %s listener", (listener) => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget({ tellsHeap: true })
  })
  afterAll(() => target.close())
  const ends = endsAfterEach()

  test.each([
    ["health, without a key", paths.check, undefined],
    ["a user", paths.getUser, "all"],
    ["a pipeline", paths.pipeline, "all"],
  ] as const)("%s: are rejected on their header, and never decompressed", async (_, path, key) => {
    const before = await target.heldBytes()
    const connections = Array.from({ length: 4 }, () => attackConnection(target.url(listener)))
    ends(async () => {
      for (const connection of connections) connection.close()
    })
    const calls = connections.flatMap((connection) =>
      Array.from({ length: path === paths.pipeline ? pipelines : streams }, () => {
        const call = connection.open({
          ...header(path, { key: key && target.keys[key] }),
          "grpc-encoding": "gzip",
        })
        const flagged = Buffer.alloc(5)
        flagged.writeUInt8(1)
        flagged.writeUInt32BE(packed.length, 1)
        // The request is never ended, so a service that decompressed the message would keep it.
        call.stream.write(Buffer.concat([flagged, packed]))
        return call
      }),
    )
    for (const call of calls) expect(await endOf(call)).toMatch(/^12 /)
    for (const connection of connections) await connection.seen()
    expect((await target.heldBytes()) - before).toBeLessThan(16 * 2 ** 20)
  })

  test("a client is told not to compress", async () => {
    const connection = attackConnection(target.url(listener))
    ends(async () => connection.close())
    const { stream } = connection.open(header(paths.check), Buffer.alloc(5))
    const told = await new Promise((resolve) => stream.once("response", resolve))
    expect((told as Record<string, unknown>)["grpc-accept-encoding"] ?? "identity").toBe("identity")
  })
})

describe("a compressed pipeline at the HTTP listener", () => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget()
  })
  afterAll(() => target.close())

  test.each([
    ["Connect", "application/connect+proto", "connect-content-encoding", '{"error":{"code":"unimplemented"'],
    ["gRPC-Web", "application/grpc-web+proto", "grpc-encoding", "grpc-status: 12"],
  ] as const)("%s: ends with UNIMPLEMENTED", async (_, type, name, end) => {
    const connection = attackConnection(target.url("http"))
    const { stream } = connection.open({ ...header(paths.pipeline, { key: target.keys.all, type }), [name]: "gzip" })
    stream.end()
    const answer = (await buffer(stream)).toString("latin1")
    connection.close()
    expect(answer).toContain(end)
    expect(answer).not.toContain("gzip")
  })
})
