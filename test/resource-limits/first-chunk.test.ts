import { once } from "node:events"
import http2 from "node:http2"
import net from "node:net"
import { resetRequests } from "@authwire/test-support/attack/raw-sockets.js"
import { getUserRequest, header, paths } from "@authwire/test-support/attack/requests.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { closed } from "@authwire/test-support/connections/closed.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { http2Frame } from "../../fuzz/generate/http2-frames.ts"

// What a client sends at once is read at once: limits that count finished calls come too late for it.
describe.each(listeners)("many calls in the first bytes of a connection, at the %s listener", (listener) => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget({ args: ["--metrics-addr=127.0.0.1:0"] })
  })
  afterAll(() => target.close())
  const later = endsAfterEach()

  async function handledCalls(): Promise<number> {
    const text = await (await fetch(target.server.metricsUrl)).text()
    const counts = text.matchAll(/^grpc_server_handled_total\{.*grpc_method="GetUser".*\} (\d+)$/gm)
    return counts.reduce((sum, [, count]) => sum + Number(count), 0)
  }

  /** Makes calls at the same time over a new connection, and returns how often each outcome occurred. */
  async function outcomes(calls: number, key: string | undefined, assumed?: number): Promise<Record<string, number>> {
    const options = assumed === undefined ? {} : { peerMaxConcurrentStreams: assumed }
    const session = http2.connect(target.url(listener), options)
    later(async () => session.destroy())
    session.on("error", () => {})
    const found: Record<string, number> = {}
    const made = Array.from({ length: calls }, async () => {
      const stream = session.request(header(paths.getUser, { key }))
      let outcome: unknown
      stream.on("response", (headers) => (outcome = headers["grpc-status"] ?? outcome))
      stream.on("trailers", (headers) => (outcome = headers["grpc-status"] ?? outcome))
      stream.on("error", () => {})
      stream.resume().end(getUserRequest("nobody"))
      await once(stream, "close").catch(() => {})
      const name = stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM ? "refused" : `status ${outcome}`
      found[name] = (found[name] ?? 0) + 1
    })
    await Promise.all(made)
    return found
  }

  test("S-40: without a key, a hundred at most are handled", async () => {
    const { refused = 0, ...handled } = await outcomes(1_000, undefined, 5_000)
    expect(refused).toBe(900)
    expect(Object.keys(handled).every((name) => /^status (16|undefined)$/.test(name))).toBe(true)
  })

  test("S-40: requests that are reset at once count, too", async () => {
    const before = await handledCalls()
    const socket = net.connect({ port: Number(new URL(target.url(listener)).port), host: "127.0.0.1" })
    later(async () => socket.destroy())
    const isClosed = closed(socket.resume())
    // Fewer than those at which Node itself closes a connection.
    socket.write(resetRequests(paths.getUser, 900))
    await isClosed
    expect((await handledCalls()) - before).toBeLessThanOrEqual(100)
  })

  test("S-40: requests that are reset at once, before bytes that break the protocol, end only their connection", async () => {
    const socket = net.connect({ port: Number(new URL(target.url(listener)).port), host: "127.0.0.1" })
    later(async () => socket.destroy())
    const isClosed = closed(socket.resume())
    // DATA of stream 0.
    socket.write(Buffer.concat([resetRequests(paths.getUser, 100), http2Frame(0, 0, 0, Buffer.from("x"))]))
    await isClosed
    expect(await outcomes(1, target.keys.all)).toEqual({ "status 5": 1 })
  })

  test("with a key, all are answered: a client waits until it may begin more", async () => {
    expect(await outcomes(1_000, target.keys.all)).toEqual({ "status 5": 1_000 })
  })
})
