import { once } from "node:events"
import http2 from "node:http2"
import { GetTokenRequestSchema, TokenService } from "@authwire/proto"
import { BadRequestSchema } from "@authwire/proto/rpc/error_details"
import { prefix } from "@authwire/test-support/attack/requests.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node"
import { describe, expect, test } from "@jest/globals"

// Cases that fuzz/ has found.
describe("a hostile request", () => {
  const authwire = useAuthwire("sqlite")

  test.each(["grpc", "http"] as const)(
    "entries that each break a rule, more than are read, get a short rejection: %s",
    async (way) => {
      const transport =
        way === "grpc"
          ? createGrpcTransport({ baseUrl: authwire.server.grpcUrl })
          : createConnectTransport({ baseUrl: authwire.server.httpUrl, httpVersion: "2" })
      const { tokens, headers } = {
        tokens: createClient(TokenService, transport),
        headers: (count: number) => Array.from({ length: count }, () => ({})),
      }
      const broken = async (count: number) => {
        const error = await tokens
          .getToken({ headers: headers(count) })
          .catch((caught: unknown) => caught as ConnectError)
        if (!(error instanceof ConnectError)) throw new Error("it is taken")
        expect(Code[error.code]).toBe("InvalidArgument")
        return error.findDetails(BadRequestSchema)[0]?.fieldViolations ?? []
      }
      expect(await broken(150_000)).toMatchObject([
        { field: "request", description: "must not have more than 100000 parts" },
      ])
      // With many violations only the first is reported, with fewer as many as fit into a header.
      expect(await broken(20_000)).toMatchObject([{ field: "headers" }])
      const some = await broken(300)
      expect(some[0]).toMatchObject({ field: "headers" })
      expect(some).toHaveLength(20)
    },
  )

  test.each([
    ["grpc", "application/grpc"],
    ["http", "application/grpc"],
    ["http", "application/grpc-web"],
    ["http", "application/proto"],
  ] as const)("S-31: parts of a message in protobuf are counted before it is decoded: %s, %s", async (way, type) => {
    // The last of them has no end, which nobody finds out.
    const message = Buffer.alloc(
      400_001,
      toBinary(GetTokenRequestSchema, create(GetTokenRequestSchema, { headers: [{}] })),
    )
    const session = http2.connect(way === "grpc" ? authwire.server.grpcUrl : authwire.server.httpUrl)
    const path = "/authwire.v1.TokenService/GetToken"
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": type })
    stream.end(type === "application/proto" ? message : Buffer.concat([prefix(message.length), message]))
    const received: string[] = []
    stream.on("response", (header) => received.push(String(header["grpc-message"])))
    stream.on("trailers", (trailer) => received.push(String(trailer["grpc-message"])))
    stream.on("data", (chunk: Buffer) => received.push(chunk.toString()))
    await once(stream, "close")
    session.destroy()
    expect(decodeURIComponent(received.join())).toContain("request: must not have more than 100000 parts")
  })

  test("a request that is rejected before it is read does not stay open", async () => {
    const body = Buffer.from(
      toBinary(GetTokenRequestSchema, create(GetTokenRequestSchema, { cookieName: "x".repeat(2_000_000) })),
    )
    for (let count = 0; count < 40; count++) {
      // Node counts unsent data of a reset stream against its connection permanently.
      const session = http2.connect(authwire.server.httpUrl)
      const stream = session.request({
        ":method": "POST",
        ":path": "/authwire.v1.TokenService/GetToken",
        "content-type": count % 2 === 0 ? "application/json" : "application/grpc",
        "content-encoding": "br",
        "grpc-encoding": "br",
      })
      stream.resume()
      stream.end(body)
      await once(stream, "close")
      session.destroy()
    }
  })

  test("a key with characters that are invalid in headers does not reach the log", async () => {
    const session = http2.connect(authwire.server.grpcUrl)
    const requestId = crypto.randomUUID()
    const stream = session.request({
      ":method": "POST",
      ":path": "/authwire.v1.UserService/GetUser",
      "content-type": "application/grpc",
      authorization: "Bearer awk_canary_\u00e9",
      "x-request-id": requestId,
    })
    stream.resume()
    stream.end(Buffer.from("00000000030a0161", "hex"))
    await once(stream, "close")
    session.close()
    await until(() => authwire.server.output().includes(requestId))
    expect(authwire.server.output()).not.toContain("awk_canary")
  })
})
