import { http1Request, http2Requests, type RawSocket, unreadSocket } from "@authwire/test-support/attack/raw-sockets.js"
import { getUserRequest, header, paths, reflectionRequest } from "@authwire/test-support/attack/requests.js"
import { attackConnection } from "@authwire/test-support/attack/streams.js"
import { large, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const mebibyte = 1024 * 1024
/**
 * A socket whose client takes nothing for 20 s is closed. Where the buffers of the system hold all that was asked for, as
 * the few answers of reflection, nothing waits: then it is the connection without a stream and without a key that is
 * closed, after 30 s and 5 s for the client to read so.
 */
const closedMs = 40_000

describe("sockets that nobody reads", () => {
  let target: Target
  let metricsUrl: string
  beforeAll(async () => {
    target = await startTarget({ args: ["--metrics-addr=127.0.0.1:0"] })
    metricsUrl = /^authwire: metrics at (\S+)$/m.exec(target.server.output())?.[1] as string
  })
  afterAll(() => target.close())
  const ends = endsAfterEach()

  test("are closed, whatever was asked for", async () => {
    const { all: key } = target.keys
    const { grpcUrl, httpUrl } = target.server
    const getUser = getUserRequest(large.id)
    const call = http1Request(paths.getUser, { method: "POST", key, body: getUser.subarray(5) })
    const before = target.residentBytes()
    const asked: [string, RawSocket][] = [
      ["healthz", unreadSocket(httpUrl, http1Request("/healthz"), 100_000)],
      ["metrics", unreadSocket(metricsUrl, http1Request("/metrics"), 10_000)],
      ["calls over HTTP/1.1", unreadSocket(httpUrl, call, 100)],
      ["calls over gRPC", unreadSocket(grpcUrl, http2Requests(paths.getUser, getUser, 90, key))],
      ["calls over gRPC at the HTTP listener", unreadSocket(httpUrl, http2Requests(paths.getUser, getUser, 90, key))],
      ["reflection", unreadSocket(grpcUrl, http2Requests(paths.reflection, reflectionRequest, 90))],
      [
        "reflection at the HTTP listener",
        unreadSocket(httpUrl, http2Requests(paths.reflection, reflectionRequest, 90)),
      ],
    ]
    for (const [, socket] of asked) ends(async () => socket.close())
    const held = () => asked.filter(([, { isHeld }]) => isHeld).map(([name]) => name)
    await until(() => asked.every(([, { socket }]) => socket.bytesWritten > 0))
    // Who comes later is accepted later: by now all of them are.
    for (const url of [`${httpUrl}/readyz`, metricsUrl]) expect((await fetch(url)).ok).toBe(true)
    const readers = [grpcUrl, httpUrl].map((url) => attackConnection(url))
    for (const { close } of readers) ends(async () => close())
    const watches = readers.map((reader) => reader.open(header(paths.watch), Buffer.alloc(5)))
    await Promise.all(readers.map(({ seen }) => seen()))
    expect(held()).not.toEqual([])
    // What is left of them is told by the comparison.
    await until(() => held().length === 0, closedMs).catch(() => {})
    expect(held()).toEqual([])
    // Who takes what is there may wait for more.
    expect(watches.map(({ open }) => open)).toEqual([true, true])
    expect(target.residentBytes() - before).toBeLessThan(256 * mebibyte)
  })
})
