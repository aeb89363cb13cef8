import http2 from "node:http2"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { describe, expect, test } from "@jest/globals"

// No listener decompresses. What the gRPC specification says about that holds for every protocol.

const watch = "/grpc.health.v1.Health/Watch"
const check = "/grpc.health.v1.Health/Check"

describe("a compressed request", () => {
  const authwire = useAuthwire("sqlite")

  /** Sends a request, and returns the code, the message and the accepted encodings in the answer. */
  async function ask(listener: "grpcUrl" | "httpUrl", path: string, headers: object, body: Uint8Array) {
    const session = http2.connect(authwire.server[listener])
    const stream = session.request({ ":method": "POST", ":path": path, te: "trailers", ...headers })
    const fields: http2.IncomingHttpHeaders = {}
    stream.on("response", (more) => Object.assign(fields, more)).on("trailers", (more) => Object.assign(fields, more))
    stream.end(body)
    let text = ""
    for await (const chunk of stream) text += chunk
    session.destroy()
    const json = /\{.*\}$/s.exec(text)?.[0]
    const { code, message } = json === undefined ? {} : (JSON.parse(json).error ?? JSON.parse(json))
    const ofTrailer = (name: string) => new RegExp(`${name}: *(.*?)\r?$`, "im").exec(text)?.[1] ?? fields[name]
    return {
      code: code ?? { 12: "unimplemented", 13: "internal" }[Number(ofTrailer("grpc-status"))],
      message: message ?? decodeURI(String(ofTrailer("grpc-message"))),
      accepted: Object.entries(fields).filter(([name]) => name.endsWith("accept-encoding")),
    }
  }
  const envelope = (flags: number, message = "") => {
    const bytes = Buffer.from([flags, 0, 0, 0, message.length])
    return Buffer.concat([bytes, Buffer.from(message)])
  }

  const flagged = "a message has a flag, which none may have, because no compression is supported"
  const ways = [
    ["grpcUrl", check, "application/grpc", "grpc-encoding"],
    ["grpcUrl", watch, "application/grpc+proto", "grpc-encoding"],
    ["httpUrl", check, "application/grpc", "grpc-encoding"],
    ["httpUrl", watch, "application/grpc", "grpc-encoding"],
    ["httpUrl", check, "application/grpc+json", "grpc-encoding"],
    ["httpUrl", check, "application/grpc-web+proto", "grpc-encoding"],
    ["httpUrl", watch, "application/grpc-web+json", "grpc-encoding"],
    ["httpUrl", watch, "application/connect+proto", "connect-content-encoding"],
    ["httpUrl", watch, "application/connect+json", "connect-content-encoding"],
  ] as const

  test.each(ways)(
    "%s, %s, %s: without an encoding that is one, a flag is INTERNAL",
    async (listener, path, type, name) => {
      for (const encoding of [{}, { [name]: "identity" }])
        for (const flags of [1, 2, 4, 0x40, 0x80])
          expect(await ask(listener, path, { "content-type": type, ...encoding }, envelope(flags, "{}"))).toMatchObject(
            {
              code: "internal",
              message: flagged,
            },
          )
    },
  )

  test.each([
    ...ways,
    ["httpUrl", check, "application/json", "content-encoding"],
    ["httpUrl", check, "application/proto", "content-encoding"],
  ] as const)(
    "%s, %s, %s: an encoding is UNIMPLEMENTED, not quoted, and told which is accepted",
    async (listener, path, type, name) => {
      for (const encoding of ["gzip", "canary"])
        expect(await ask(listener, path, { "content-type": type, [name]: encoding }, envelope(1, "{}"))).toEqual({
          code: "unimplemented",
          message: "this compression is not supported: the only accepted encoding is identity",
          accepted: [[name.replace(/(content-)?encoding/, "accept-encoding"), "identity"]],
        })
    },
  )
})
