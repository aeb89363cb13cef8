import { once } from "node:events"
import { header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

describe("a call whose request continues after its deadline, and cannot be decoded", () => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget()
  })
  afterAll(() => target.close())
  const ends = endsAfterEach()

  // The decoder finds that the request is malformed after the call was answered. A second answer would end the process.
  const broken: Record<string, [first: Buffer, rest: Buffer, statusOfGrpc: string]> = {
    // The gRPC listener rejects this one by its first byte, before the deadline.
    "not compressed as it says": [Buffer.from("0100000004ffff", "hex"), Buffer.from("ffff", "hex"), "12"],
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
