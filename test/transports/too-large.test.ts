import { once } from "node:events"
import http2 from "node:http2"
import net from "node:net"
import { TokenService } from "@authwire/proto"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { describe, expect, test } from "@jest/globals"

const later = endsAfterEach()

// Clients of HTTP/2 that have not sent their whole request when the answer arrives. A client in Go ends its request at
// once, shorter than announced, which HTTP/2 counts as an error of the stream. A client on Node keeps what it has not sent
// in its memory of 10 MB, and refuses answers beyond that.
describe("the answer to a request that is too large or rejected", () => {
  const authwire = useAuthwire("sqlite", { keys: true, args: ["--max-message-bytes=1048576"] })

  const authorized: Parameters<typeof createGrpcTransport>[0]["interceptors"] = [
    (next) => (request) => {
      request.header.set("authorization", `Bearer ${authwire.server.apiKey}`)
      return next(request)
    },
  ]
  const options = (baseUrl: string) => ({ baseUrl, httpVersion: "2" as const, interceptors: authorized })

  test.each<[string, () => Transport]>([
    ["gRPC, at the gRPC listener", () => createGrpcTransport(options(authwire.server.grpcUrl))],
    ["gRPC, at the HTTP listener", () => createGrpcTransport(options(authwire.server.httpUrl))],
    ["gRPC-Web", () => createGrpcWebTransport(options(authwire.server.httpUrl))],
    ["Connect", () => createConnectTransport(options(authwire.server.httpUrl))],
    ["Connect, binary", () => createConnectTransport({ ...options(authwire.server.httpUrl), useBinaryFormat: true })],
  ])("%s: reaches a client on Node, whose connection stays usable", async (_, connect) => {
    const tokens = createClient(TokenService, connect())
    for (const bytes of [1_100_000, 4_000_000, 4_000_000, 4_000_000, 12_000_000]) {
      const error = await tokens.encode({ payload: { a: "x".repeat(bytes) } }).catch((caught: unknown) => caught)
      expect(error instanceof ConnectError && [Code[error.code], error.rawMessage]).toEqual([
        "ResourceExhausted",
        expect.stringMatching(/^the request has a message of (1[0-9]+ bytes, the limit is|4[0-9]+ bytes,|more than) ?/),
      ])
    }
    expect((await tokens.encode({ payload: { sub: "u" }, salt: "s" })).token).not.toBe("")
  })

  /** Returns the frames of the only stream of a connection that the service sends: type, flags and length. */
  async function framesOf(url: string, headers: http2.OutgoingHttpHeaders) {
    const target = new URL(url)
    const received: Buffer[] = []
    const proxy = net.createServer((client) => {
      const service = net.connect(Number(target.port), target.hostname)
      service.on("data", (chunk: Buffer) => received.push(chunk))
      service.pipe(client).pipe(service)
      for (const socket of [client, service]) socket.on("error", () => {})
    })
    const session = http2.connect(`http://127.0.0.1:${await listen(proxy)}`)
    later(async () => {
      session.destroy()
      proxy.close()
    })
    const stream = session.request({ ":method": "POST", te: "trailers", ...headers })
    stream.on("error", () => {}).resume()
    // The rest of the request is not sent.
    stream.write(Buffer.alloc(20_000))
    await once(stream, "end")
    const bytes = Buffer.concat(received)
    const frames: { type: number; ends: boolean; length: number }[] = []
    for (let at = 0; at < bytes.length; ) {
      const length = bytes.readUIntBE(at, 3)
      const [type = 0, flags = 0] = bytes.subarray(at + 3)
      if (bytes.readUInt32BE(at + 5) === 1 && type <= 1) frames.push({ type, ends: (flags & 1) === 1, length })
      at += 9 + length
    }
    return frames
  }

  const encode = "/authwire.v1.TokenService/Encode"
  const watch = "/authwire.v1.EventService/Watch"
  const [data, header] = [0, 1]
  test.each<[string, "grpcUrl" | "httpUrl", string, string]>([
    ["gRPC", "grpcUrl", encode, "application/grpc"],
    ["gRPC", "httpUrl", encode, "application/grpc"],
    ["gRPC", "httpUrl", watch, "application/grpc+json"],
  ])("%s, %s, %s: is one frame", async (_, listener, path, type) => {
    const headers = { ":path": path, "content-type": type, "content-length": "30000000" }
    expect(await framesOf(authwire.server[listener], headers)).toEqual([
      { type: header, ends: true, length: expect.any(Number) },
    ])
  })

  test.each([
    ["gRPC-Web", encode, "application/grpc-web+proto"],
    ["gRPC-Web", watch, "application/grpc-web+json"],
    ["Connect", encode, "application/json"],
    ["Connect", watch, "application/connect+proto"],
    ["a content type that is not taken", encode, "text/html"],
  ])("%s, %s: ends with the frame of its bytes", async (_, path, type) => {
    const headers = { ":path": path, "content-type": type, "content-length": "30000000" }
    expect(await framesOf(authwire.server.httpUrl, headers)).toEqual([
      { type: header, ends: false, length: expect.any(Number) },
      { type: data, ends: true, length: expect.any(Number) },
    ])
  })
})
