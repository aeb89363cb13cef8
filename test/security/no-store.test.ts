import { once } from "node:events"
import http2 from "node:http2"
import { connect } from "node:net"
import { closed } from "@authwire/test-support/connections/closed.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { describe, expect, test } from "@jest/globals"

const path = "/authwire.v1.UserService/GetUser"

// Requests of HTTP/1.1: those that the service answers, and those that Node answers by itself. http-listener.test.ts has the usual
// ones, for both versions.
const post = (fields: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n${fields}\r\n\r\n${body}`
const json = "content-type: application/json"
const chunked = (body: string) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\n${json}\r\ntransfer-encoding: chunked\r\n\r\n${body}`
const calls: readonly (readonly [string, number, string])[] = [
  ["a call that is too large", 429, post(json, `{"id": "${"a".repeat(70_000)}"}`)],
  ["a call of gRPC-Web", 200, post("content-type: application/grpc-web+proto", "\0\0\0\0\0")],
  ["a call that ends in a broken chunk", 400, chunked("1\r\n{\r\nzz\r\n")],
  ["a chunk with too much beside it", 413, chunked(`2;${"a".repeat(20_000)}\r\n`)],
]
const requests = [
  ["a path that is not there", 404, "GET /nothing HTTP/1.1\r\nhost: localhost\r\n\r\n"],
  ["what is no HTTP", 400, "nothing of HTTP\r\n\r\n"],
  ["no host", 400, "GET /healthz HTTP/1.1\r\n\r\n"],
  ["an expectation that nobody meets", 417, "GET /healthz HTTP/1.1\r\nhost: localhost\r\nexpect: a miracle\r\n\r\n"],
  ["a header that is too long", 431, `GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-a: ${"a".repeat(17_000)}\r\n\r\n`],
] as const

/** Returns all data until the connection ends, after the last response or without one. */
async function answerOf(url: string, request: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1")
  socket.write(request.replace("host: localhost\r\n", "host: localhost\r\nconnection: close\r\n"))
  let answer = ""
  socket.on("data", (chunk) => {
    answer += chunk
  })
  await closed(socket)
  return answer
}

describe("S-34: no cache may store a response of", () => {
  const authwire = useAuthwire("sqlite", {
    args: ["--metrics-addr=127.0.0.1:0", "--max-message-bytes=65536"],
  })

  test.each([...calls, ...requests])("the HTTP listener over HTTP/1.1: %s", async (_, status, request) => {
    const answer = await answerOf(authwire.server.httpUrl, request)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer.toLowerCase()).toContain("\r\ncache-control: no-store\r\n")
  })

  test.each([
    ...requests,
    ["the page", 200, "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n"] as const,
    ["a method that is none", 405, "POST /metrics HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n"] as const,
  ])("the metrics listener: %s", async (_, status, request) => {
    const answer = await answerOf(authwire.server.metricsUrl, request)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer.toLowerCase()).toContain("\r\ncache-control: no-store\r\n")
  })

  test.each<[string, number, http2.OutgoingHttpHeaders, string]>([
    ["a call of gRPC", 200, { "content-type": "application/grpc+proto" }, "\0\0\0\0\0"],
    ["an authority that is none", 403, { ":authority": "[", "content-type": "application/json" }, "{}"],
    ["an expectation that nobody meets", 417, { expect: "a miracle" }, ""],
    ["a tunnel", 405, { ":method": "CONNECT", ":authority": "a:1" }, ""],
  ])("the HTTP listener over HTTP/2: %s", async (_, status, headers, body) => {
    const session = http2.connect(authwire.server.httpUrl)
    const isTunnel = headers[":method"] === "CONNECT"
    const stream = session.request({ ...(isTunnel ? {} : { ":method": "POST", ":path": path }), ...headers })
    stream.end(body === "" ? undefined : body)
    const [response] = (await once(stream, "response")) as [http2.IncomingHttpHeaders]
    expect(response).toMatchObject({ ":status": status, "cache-control": "no-store" })
    session.destroy()
  })

  test.each([path, "/nothing"])("the gRPC listener: %s", async (to) => {
    const session = http2.connect(authwire.server.grpcUrl)
    const stream = session.request({ ":method": "POST", ":path": to, "content-type": "application/grpc" })
    stream.end("\0\0\0\0\0")
    const [response] = (await once(stream, "response")) as [http2.IncomingHttpHeaders]
    expect(response).toMatchObject({ ":status": 200, "cache-control": "no-store" })
    session.destroy()
  })
})

describe("S-34: no cache may store the response to", () => {
  // Of a service of its own, because a client that stands still for a moment has not sent its header in this time either.
  const authwire = useAuthwire("sqlite", { args: ["--metrics-addr=127.0.0.1:0", "--handshake-timeout-ms=1000"] })

  test.each(["httpUrl", "metricsUrl"] as const)("a header that never ends (%s)", async (listener) => {
    const answer = await answerOf(authwire.server[listener], "GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer.toLowerCase()).toContain("\r\ncache-control: no-store\r\n")
  })
})
