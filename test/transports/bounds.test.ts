import { once } from "node:events"
import http2 from "node:http2"
import net from "node:net"
import { closed } from "@authwire/test-support/connections/closed.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"

const getUser = { ":method": "POST", ":path": "/authwire.v1.UserService/GetUser", "content-type": "application/grpc" }
const watch = { ":method": "POST", ":path": "/grpc.health.v1.Health/Watch", "content-type": "application/grpc" }
const grpc = { ...getUser, te: "trailers" }
/** An empty gRPC message. */
const empty = Buffer.alloc(5)
/** A gRPC message with the id "nobody". */
const nobody = Buffer.from([0, 0, 0, 0, 8, 10, 6, ...Buffer.from("nobody")])

describe("S-46: a transport limits the resources of clients", () => {
  const strict = useAuthwire("sqlite", { args: ["--max-connections=10", "--handshake-timeout-ms=3000"] })
  const lenient = useAuthwire("sqlite", { args: ["--idle-timeout-ms=1000"] })
  const urlOf = (transport: string, { server } = strict) => (transport === "grpc" ? server.grpcUrl : server.httpUrl)
  const connect = (transport: string) => {
    const socket = net.connect(Number(new URL(urlOf(transport)).port), "127.0.0.1")
    socket.on("error", () => {})
    return socket
  }

  describe.each(["grpc", "http"])("the %s listener", (transport) => {
    test("rejects connections beyond --max-connections, and accepts new ones after others were closed", async () => {
      const ten = Array.from({ length: 10 }, () => http2.connect(urlOf(transport)))
      const holds = ten.map((session) => session.request(watch).on("error", () => {}))
      for (const stream of holds) stream.end(empty)
      await Promise.all(holds.map((stream) => once(stream, "response")))
      const next = connect(transport)
      await closed(next.resume())
      expect(next.bytesRead).toBe(0)
      await until(() => strict.server.output().includes("closing new connections"))
      for (const session of ten) session.destroy()
      await until(async () => (await status(urlOf(transport), grpc, nobody)) === "5")
    })

    test("closes connections that are silent before a first request, and one that sends its first bytes one at a time", async () => {
      const words = ["", "PRI * HTTP/2.0\r\n\r\nS", "POST /auth", "POST / HTTP/1.1\r\nhost: localhost\r\nx-lo"]
      const silent = words.map((beginning) => {
        const socket = connect(transport)
        socket.write(beginning)
        return closed(socket.resume())
      })
      const slow = connect(transport)
      const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
      let sent = 0
      const timer = setInterval(() => slow.write(preface[sent++] ?? "x"), 250)
      await closed(slow.resume())
      clearInterval(timer)
      expect(sent).toBeLessThan(preface.length)
      await Promise.all(silent)
    })

    test("closes an HTTP/2 connection without streams, and none with streams", async () => {
      const used = http2.connect(urlOf(transport, lenient))
      const stream = used.request(watch)
      stream.end(empty)
      await once(stream, "response")
      const idle = http2.connect(urlOf(transport, lenient))
      const [code] = (await once(idle, "goaway")) as [number]
      expect(code).toBe(http2.constants.NGHTTP2_NO_ERROR)
      // A connection is also idle after its requests were answered.
      const done = http2.connect(urlOf(transport, lenient))
      const answered = done.request(grpc)
      answered.end(nobody)
      answered.resume()
      await once(answered, "close")
      await once(done, "close")
      expect(used.destroyed).toBe(false)
      const closing = once(used, "goaway")
      stream.close()
      await closing
      used.destroy()
    })

    test("accepts headers of 16 KiB in all, and no more", async () => {
      const padded = (length: number) => ({ ...grpc, "x-padding": "a".repeat(length) })
      expect(await status(urlOf(transport), padded(15_000), nobody)).toBe("5")
      expect(await status(urlOf(transport), padded(17_000), nobody)).toBe("reset")
      // A client that does not wait for the settings can send a little more.
      expect(await status(urlOf(transport), padded(70_000), nobody, false)).toBe("reset")
      const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-${i}`, ""]))
      expect(await status(urlOf(transport), { ...grpc, ...many }, nobody)).toBe("reset")
    })

    test("closes a connection that opens and resets streams rapidly", async () => {
      const session = http2.connect(urlOf(transport, lenient))
      session.on("error", () => {})
      await once(session, "remoteSettings")
      // If the connection is not closed, the test ends with its own timeout.
      for (let resets = 0; !session.destroyed && !session.closed; resets++) {
        const stream = session.request(grpc)
        stream.on("error", () => {})
        stream.close(http2.constants.NGHTTP2_CANCEL)
        if (resets % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      expect(await status(urlOf(transport, lenient), grpc, nobody)).toBe("5")
    })
  })

  test.each([
    ["/healthz", 17_000, 431],
    ["/v1/authorize", 60_000, 401],
    ["/v1/authorize", 66_000, undefined],
  ])(
    "the HTTP listener answers %s with a header of HTTP/2 of %d bytes with the status %s",
    async (path, bytes, status) => {
      const session = http2.connect(strict.server.httpUrl)
      await once(session, "remoteSettings")
      await new Promise((resolve) => session.ping(resolve))
      const stream = session.request({ ":path": path, "x-padding": "a".repeat(bytes) })
      stream.on("error", () => {})
      let found: unknown
      stream.once("response", (fields) => {
        found = fields[":status"]
      })
      stream.resume()
      await new Promise((resolve) => stream.once("close", resolve))
      session.destroy()
      expect(found).toBe(status)
    },
  )

  test.each([
    ["/healthz", 17_000],
    ["/healthz", 66_000],
    ["/v1/authorize", 66_000],
  ])(
    "the HTTP listener answers %s with a header of HTTP/1.1 of %d bytes with 431 and no details",
    async (path, bytes) => {
      const socket = connect("http")
      socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nx-padding: ${"a".repeat(bytes)}\r\n\r\n`)
      let answer = ""
      for await (const chunk of socket) answer += chunk
      const [statusLine, ...fields] = answer.split("\r\n")
      expect(statusLine).toBe("HTTP/1.1 431 Request Header Fields Too Large")
      expect(fields.filter((field) => !/^(date|content-length: 0$)/i.test(field)).toSorted()).toEqual([
        "",
        "",
        "cache-control: no-store",
        "connection: close",
        "content-security-policy: default-src 'none'",
        "referrer-policy: no-referrer",
        "x-content-type-options: nosniff",
      ])
      const limit = path === "/healthz" ? 16_384 : 65_536
      await until(() => strict.server.log().includes(`"max_header_bytes":${limit}`))
    },
  )
})

/** Returns the grpc-status of a response; "reset" if there is none, "closed" if there is no connection. */
async function status(url: string, headers: http2.OutgoingHttpHeaders, body: Buffer, waits = true): Promise<string> {
  const session = http2.connect(url)
  session.on("error", () => {})
  const ended = new Promise((resolve) => session.once("close", resolve))
  if (waits) {
    // The response to a ping arrives after the acknowledgement of the settings.
    const ready = once(session, "remoteSettings").then(() => new Promise((resolve) => session.ping(resolve)))
    await Promise.race([ready.catch(() => {}), ended])
    if (session.destroyed) return "closed"
  }
  const stream = session.request(headers)
  let found: unknown
  const read = (fields: http2.IncomingHttpHeaders) => {
    found ??= fields["grpc-status"]
  }
  stream.on("response", read)
  stream.on("trailers", read)
  stream.on("error", () => {})
  stream.resume()
  stream.end(body)
  await new Promise((resolve) => stream.once("close", resolve))
  session.destroy()
  return found === undefined ? "reset" : String(found)
}
