import { once } from "node:events"
import http2 from "node:http2"
import type { AddressInfo } from "node:net"
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals"
import { limits } from "../limits/limits.js"
import { closeWhenAnswered, markAdmitted } from "./close-stream.js"

let server: http2.Http2Server
let client: http2.ClientHttp2Session
beforeEach(async () => {
  server = http2.createServer()
  server.on("stream", (stream, headers) => {
    if (headers[":path"] === "/admitted") markAdmitted(stream)
    stream.on("error", () => {})
    closeWhenAnswered(stream)
    if (headers[":path"] === "/trailers") {
      stream.respond({}, { waitForTrailers: true })
      stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": 16 }))
    } else stream.respond()
    stream.end()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
afterEach(() => {
  jest.useRealTimers()
  client.destroy()
  server.close()
})

test("of the streams that are answered before their request ends, a limited number linger, and the others do not", async () => {
  const more = 6
  for (let round = 0; round < 2; round++) {
    const closed: number[] = []
    const streams = Array.from({ length: limits.lingeringStreams + more }, (_, n) => {
      const stream = client.request({ ":path": "/", ":method": "POST" }, { endStream: false })
      stream.on("error", () => {}).resume()
      stream.once("close", () => closed.push(n))
      return once(stream, "close")
    })
    await Promise.all(streams)
    const last = Array.from({ length: more }, (_, n) => limits.lingeringStreams + n)
    expect(closed.slice(0, more).toSorted((one, other) => one - other)).toEqual(last)
  }
})

test("of a stream that was rejected only a little more is read, of one that was admitted everything", async () => {
  // The time to read passes only when everything of the admitted stream has been read.
  jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] })
  const sent = 60_000
  const parts = 10
  const begin = async (path: string) => {
    const stream = client.request({ ":path": path, ":method": "POST" }, { endStream: false })
    stream.on("error", () => {}).resume()
    const closed = once(stream, "close")
    await once(stream, "response")
    const acknowledged = { parts: 0, all: Promise.withResolvers<void>() }
    // Much more than the flow control of HTTP/2 allows without a reader.
    for (let part = 0; part < parts; part++)
      stream.write(Buffer.alloc(sent), () => ++acknowledged.parts === parts && acknowledged.all.resolve())
    return { closed, acknowledged }
  }
  const [admitted, rejected] = [await begin("/admitted"), await begin("/rejected")]
  await admitted.acknowledged.all.promise
  jest.advanceTimersByTime(limits.lingerMs)
  await Promise.all([admitted.closed, rejected.closed])
  expect(rejected.acknowledged.parts).toBeLessThan(parts)
})

test("a stream that is rejected while its client has sent much gets its trailers", async () => {
  const stream = client.request({ ":path": "/trailers", ":method": "POST" }, { endStream: false })
  stream.on("error", () => {}).resume()
  stream.write(Buffer.alloc(limits.lingerBytes * 4))
  const [trailers] = await once(stream, "trailers")
  expect(trailers).toMatchObject({ "grpc-status": "16" })
})
