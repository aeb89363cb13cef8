import { once } from "node:events"
import http from "node:http"
import http2 from "node:http2"
import net from "node:net"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"

const path = "/authwire.v1.UserService/GetUser"

describe("both transports", () => {
  const authwire = useAuthwire("sqlite")
  const transports = () => [new URL(authwire.server.grpcUrl), new URL(authwire.server.httpUrl)]
  // The process is still running and ready.
  const expectWell = async () => {
    expect(await authwire.adapter.getUser("nobody")).toBeNull()
    expect((await fetch(`${authwire.server.httpUrl}/readyz`)).status).toBe(200)
    expect(authwire.server.log()).not.toMatch(/unhandled|uncaught|\n\s+at .*\.js:\d+/i)
  }

  test("answer bytes that are no message with INVALID_ARGUMENT and our own message, and log it", async () => {
    const session = transports().map((transport) => http2.connect(transport))
    for (const one of session) {
      const { status, text } = await post(one, "application/grpc", framed(Uint8Array.of(0x0a, 0xff)))
      expect(status).toBe("3")
      expect(decodeURIComponent(text)).toContain("request: is not a well-formed authwire.v1.GetUserRequest")
      one.close()
    }
    const headers = { "content-type": "application/proto", "x-request-id": "of-the-test" }
    const response = await fetch(new URL(path, authwire.server.httpUrl), { method: "POST", headers, body: "\n\u00ff" })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        code: "invalid_argument",
        message: "request: is not a well-formed authwire.v1.GetUserRequest",
        details: [{ debug: { reason: "INVALID_FIELD", metadata: { request_id: "of-the-test" } } }, {}],
      },
    ])
    // The log line is written after the response.
    await until(() => /INVALID_ARGUMENT.*of-the-test/.test(authwire.server.log()))
  })

  test("a request that does not arrive completely ends at the server's maximum deadline", async () => {
    const server = await startServer({ databaseUrl: authwire.database.url, args: ["--max-deadline-ms=300"] })
    for (const url of [server.grpcUrl, server.httpUrl]) {
      const session = http2.connect(url)
      const stream = session.request({
        ":method": "POST",
        ":path": path,
        "content-type": "application/grpc",
        te: "trailers",
      })
      stream.on("error", () => {})
      stream.write(Buffer.from([0, 0, 0, 0, 9, 10]))
      await new Promise((resolve) => stream.once("response", resolve).once("close", resolve))
      session.destroy()
    }
    expect(await server.stop()).toBe(0)
  })

  test("a stream whose client never ends its request ends at the client's deadline", async () => {
    for (const url of transports()) {
      const session = http2.connect(url)
      const stream = session.request({
        ":method": "POST",
        ":path": "/grpc.health.v1.Health/Watch",
        "content-type": "application/grpc",
        "grpc-timeout": "200m",
        te: "trailers",
      })
      const status = new Promise((resolve) => {
        const hear = (header: http2.IncomingHttpHeaders) => header["grpc-status"] && resolve(header["grpc-status"])
        stream.on("response", hear).on("trailers", hear).once("close", resolve)
      })
      stream.on("error", () => {}).resume()
      stream.write(framed(new Uint8Array()))
      expect(await status).toBe("4")
      session.destroy()
    }
  })

  test("the gRPC listener answers other HTTP methods than POST with 405", async () => {
    const session = http2.connect(authwire.server.grpcUrl)
    for (const method of ["HEAD", "GET", "PUT"]) {
      const stream = session.request({ ":method": method, ":path": path, "content-type": "application/grpc" })
      const [header] = await once(stream, "response")
      expect(header[":status"]).toBe(405)
      stream.end().resume()
      await once(stream, "close")
    }
    session.destroy()
  })

  test("reject a message over the limit, whatever length it announces", async () => {
    for (const transport of transports()) {
      const session = http2.connect(transport)
      expect((await post(session, "application/grpc", framed(new Uint8Array(10), 2 ** 31))).status).toBe("8")
      session.close()
    }
    await expectWell()
  })

  test("an unknown method is UNIMPLEMENTED, an unknown path 404", async () => {
    for (const transport of transports()) {
      const session = http2.connect(transport)
      expect(
        (await post(session, "application/grpc", framed(new Uint8Array()), "/authwire.v1.UserService/No")).status,
      ).toMatch(/^(12|404)$/)
      session.close()
    }
    expect((await fetch(new URL("/no/such", authwire.server.httpUrl))).status).toBe(404)
  })

  test("the HTTP listener supports HTTP/1.1 on a connection that begins byte by byte", async () => {
    const { port } = new URL(authwire.server.httpUrl)
    const socket = net.connect(Number(port), "127.0.0.1")
    let text = ""
    socket.on("data", (chunk) => {
      text += chunk.toString()
    })
    for (const byte of "POST /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n") {
      await new Promise((resolve) => socket.write(byte, resolve))
    }
    await new Promise((resolve) => socket.once("close", resolve))
    expect(text).toMatch(/^HTTP\/1\.1 404 /)
  })

  test("the HTTP listener keeps an HTTP/1.1 connection open for more requests", async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const get = () =>
      new Promise<number>((resolve, reject) => {
        http
          .get(`${authwire.server.httpUrl}/healthz`, { agent }, (response) => {
            const { localPort } = response.socket
            response.resume().once("end", () => resolve(localPort as number))
          })
          .once("error", reject)
      })
    expect(await get()).toBe(await get())
    agent.destroy()
  })
})

function framed(body: Uint8Array, length = body.length): Uint8Array {
  const frame = Buffer.alloc(5 + body.length)
  frame.writeUInt32BE(length, 1)
  frame.set(body, 5)
  return frame
}

/** Makes one gRPC call with an unmodified body. The status is that of gRPC, otherwise of HTTP. */
function post(
  session: http2.ClientHttp2Session,
  contentType: string,
  body: Uint8Array,
  to = path,
): Promise<{ status: string; text: string }> {
  return new Promise((resolve) => {
    const stream = session.request({ ":method": "POST", ":path": to, "content-type": contentType, te: "trailers" })
    let status = ""
    let httpStatus = ""
    let text = ""
    stream.on("response", (headers) => {
      httpStatus = String(headers[":status"] ?? "")
      status = String(headers["grpc-status"] ?? status)
      text += String(headers["grpc-message"] ?? "")
    })
    stream.on("trailers", (headers) => {
      status = String(headers["grpc-status"] ?? status)
      text += String(headers["grpc-message"] ?? "")
    })
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1")
    })
    stream.on("error", () => {})
    stream.once("close", () =>
      resolve({ status: status || (httpStatus === "200" ? "reset" : httpStatus || "reset"), text }),
    )
    stream.end(body)
  })
}
