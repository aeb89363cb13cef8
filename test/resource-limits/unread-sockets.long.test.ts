import { http1Request, http2Requests, type RawSocket, unreadSocket } from "@authwire/test-support/attack/raw-sockets.js"
import { getUserRequest, header, paths, reflectionRequest } from "@authwire/test-support/attack/requests.js"
import { attackConnection } from "@authwire/test-support/attack/streams.js"
import { large, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const mebibyte = 1024 * 1024
/**
 * A socket is closed if its client reads nothing for 20 s. If the kernel's buffers hold all responses, such as the few
 * of reflection, no data waits in the process. Then the connection is closed as one without a stream and without a key,
 * after 30 s and another 5 s in which the client could read the GOAWAY.
 */
const closedMs = 60_000

describe("sockets that are not read", () => {
  let target: Target
  let metricsUrl: string
  beforeAll(async () => {
    target = await startTarget({ args: ["--metrics-addr=127.0.0.1:0"] })
    metricsUrl = /^authwire: metrics at (\S+)$/m.exec(target.server.output())?.[1] as string
  })
  afterAll(() => target.close())
  const ends = endsAfterEach()

  test("are closed, whatever they requested", async () => {
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
    // Later connections are accepted later, so by now all sockets are accepted.
    for (const url of [`${httpUrl}/readyz`, metricsUrl]) expect((await fetch(url)).ok).toBe(true)
    const readers = [grpcUrl, httpUrl].map((url) => attackConnection(url))
    for (const { close } of readers) ends(async () => close())
    const watches = readers.map((reader) => reader.open(header(paths.watch), Buffer.alloc(5)))
    await Promise.all(readers.map(({ seen }) => seen()))
    expect(held()).not.toEqual([])
    // If sockets remain, the comparison below fails.
    await until(() => held().length === 0, closedMs).catch(() => {})
    expect(held()).toEqual([])
    // A client that reads everything may wait for more.
    expect(watches.map(({ open }) => open)).toEqual([true, true])
    expect(target.residentBytes() - before).toBeLessThan(256 * mebibyte)
  })
})
