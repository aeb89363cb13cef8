import { once } from "node:events"
import http2 from "node:http2"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { describe, expect, test } from "@jest/globals"

const unary = "/authwire.v1.UserService/GetUser"
const streaming = "/grpc.health.v1.Health/Watch"

const ofUnary = ["application/json", "application/proto"]
const ofStreams = ["application/connect+json", "application/connect+proto"]
const binary = ["application/grpc", "application/grpc+proto"]
const others = ["application/grpc+json", ...["", "+proto", "+json"].map((format) => `application/grpc-web${format}`)]
const wrong = [
  "",
  "text/html",
  "application/",
  "application/grpcfoo",
  "application/grpc+thrift",
  "application/grpc+protobuf",
  "application/grpc-web-text",
  "application/grpc-web-text+proto",
  "application/connect",
  "application/connectjson",
  "application/json+proto",
  "application/jsonp",
  "application/grpc/x",
  "application/grpc, application/grpc",
  "application/grpc; charset=latin1",
]

describe("a listener takes a request by its content type", () => {
  const authwire = useAuthwire("sqlite")

  /** Sends a message without fields, in the form that the content type asks for. */
  async function ask(url: string, path: string, type: string) {
    const session = http2.connect(url)
    const stream = session.request({ ":method": "POST", ":path": path, te: "trailers", "content-type": type })
    const message = Buffer.from(/json/i.test(type) ? "{}" : "")
    const isPlain = /^application\/(json|proto)/i.test(type)
    stream.end(isPlain ? message : Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]))
    const [header] = (await once(stream, "response")) as [http2.IncomingHttpHeaders & { ":status": number }]
    let body = ""
    if (header[":status"] === 415) for await (const chunk of stream) body += chunk
    session.destroy()
    return { status: header[":status"], type: header["content-type"], body }
  }

  const spellings = (type: string) => [
    type,
    type.toUpperCase(),
    `${type};charset=utf-8`,
    `${type} ; Charset="UTF-8"; x=y`,
    `${type};`,
  ]
  const http = { url: () => authwire.server.httpUrl, name: "HTTP" }
  const grpc = { url: () => authwire.server.grpcUrl, name: "gRPC" }

  test.each([
    { ...grpc, method: unary, types: binary },
    { ...grpc, method: streaming, types: binary },
    { ...http, method: unary, types: [...ofUnary, ...binary, ...others] },
    { ...http, method: streaming, types: [...ofStreams, ...binary, ...others] },
  ])("the $name listener: $method", async ({ url, name, method, types }) => {
    for (const type of types.flatMap(spellings)) {
      const { status, type: answered } = await ask(url(), method, type)
      // Connect answers an invalid request of a unary method with 400.
      expect([type, status]).toEqual([type, method === unary && /^application\/(json|proto)/i.test(type) ? 400 : 200])
      expect([type, answered]).toEqual([type, expect.stringMatching(/^application\//)])
    }
    const all = [...ofUnary, ...ofStreams, ...binary, ...others, ...wrong]
    for (const type of all.filter((one) => !types.includes(one))) {
      const { status, body } = await ask(url(), method, type)
      expect([type, status]).toEqual([type, 415])
      if (name === "gRPC") continue
      const kind = method === unary ? "GetUser is a unary method" : "Watch is a streaming method"
      const message = `${kind}: its content-type must be one of ${types.join(", ")}`
      // Only a client of Connect reads its format.
      if ([...ofUnary, ...ofStreams].includes(type)) expect(JSON.parse(body)).toEqual({ code: "unknown", message })
      else expect([type, body]).toEqual([type, `${message}\n`])
    }
  })
})
