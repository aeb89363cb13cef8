import { once } from "node:events"
import http2 from "node:http2"
import type { AddressInfo } from "node:net"
import { afterEach, beforeEach, expect, test } from "@jest/globals"
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
    stream.respond()
    stream.end()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
afterEach(() => {
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

test("a stream that was rejected is closed when its client sends more than a little, one that was admitted is not", async () => {
  const closed: string[] = []
  const ends = ["/admitted", "/rejected"].map((path) => {
    const stream = client.request({ ":path": path, ":method": "POST" }, { endStream: false })
    stream.on("error", () => {}).resume()
    stream.once("response", () => stream.write(Buffer.alloc(limits.lingerBytes + 1)))
    stream.once("close", () => closed.push(path))
    return once(stream, "close")
  })
  await Promise.all(ends)
  // The time of the first one would be over before that of the second one.
  expect(closed).toEqual(["/rejected", "/admitted"])
})
