import { createServer } from "node:net"
import {
  AuthenticatorService,
  type GetUserRequest,
  GetUserRequestSchema,
  GetUserResponseSchema,
  UserService,
} from "@authwire/proto"
import { BadRequestSchema, ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { StatusSchema } from "@authwire/proto/rpc/status"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { create, type Message, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { Code, type ConnectError, createClient } from "@connectrpc/connect"
import { Metadata, type ServerUnaryCall, status } from "@grpc/grpc-js"
import { afterEach, describe, expect, test } from "@jest/globals"
import { grpcServer, type Handlers } from "../../test/grpc-server.js"
import { createAuthwireClient } from "../index.js"
import { grpcTransport } from "./grpc.js"

type UnaryHandler = Handlers[string]

const cleanUps: (() => void)[] = []
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

async function serve(handlers: Record<string, UnaryHandler>) {
  const service = await grpcServer(UserService, handlers)
  cleanUps.push(service.stop)
  return service
}

async function connect(handlers: Record<string, UnaryHandler>) {
  const { url } = await serve(handlers)
  const transport = grpcTransport({ url })
  cleanUps.push(transport.close)
  return { url, transport, users: createClient(UserService, transport) }
}

const user = (id: string, name?: string) => create(GetUserResponseSchema, { user: { id, ...(name && { name }) } })
const idOf = (call: ServerUnaryCall<Message, Message>) => (call.request as GetUserRequest).id
const echo: UnaryHandler = (call, callback) => callback(null, user(idOf(call)))

const failureOf = (call: Promise<unknown>): Promise<ConnectError> =>
  call.then(
    () => Promise.reject(new Error("nothing was thrown")),
    (error: unknown) => error as ConnectError,
  )

describe("grpcTransport", () => {
  test("receives responses of several megabytes, and rejects more than 16 MiB", async () => {
    const { users } = await connect({
      GetUser: (call, callback) => callback(null, user("u1", "x".repeat(Number(idOf(call))))),
    })
    expect((await users.getUser({ id: String(15 * 2 ** 20) })).user?.name).toHaveLength(15 * 2 ** 20)
    const error = await failureOf(users.getUser({ id: String(16 * 2 ** 20) }))
    expect(error.code).toBe(Code.ResourceExhausted)
  })

  test("sends and receives headers, and receives trailers", async () => {
    const { users } = await connect({
      GetUser: (call, callback) => {
        const header = new Metadata()
        header.set("x-echo", call.metadata.get("x-text").join())
        header.set("x-echo-bin", call.metadata.get("x-bytes-bin")[0] ?? "")
        call.sendMetadata(header)
        const trailer = new Metadata()
        trailer.set("x-last", "1")
        callback(null, user("u1"), trailer)
      },
    })
    const seen: Record<string, string | null> = {}
    await users.getUser(
      { id: "u1" },
      {
        headers: { "X-Text": "a b", "x-bytes-bin": "AP8=" },
        onHeader: (header) => Object.assign(seen, { text: header.get("x-echo"), bytes: header.get("x-echo-bin") }),
        onTrailer: (trailer) => Object.assign(seen, { last: trailer.get("x-last") }),
      },
    )
    expect(seen).toEqual({ text: "a b", bytes: "AP8=", last: "1" })
  })

  test("the error of a header that gRPC does not allow does not contain its value", async () => {
    const { users } = await connect({ GetUser: echo })
    const error = await failureOf(users.getUser({ id: "u1" }, { headers: { authorization: "Bearer hünter2" } }))
    expect(error.code).toBe(Code.InvalidArgument)
    expect(error.message).toContain("authorization")
    expect(error.message).not.toContain("nter2")
  })

  const withDetails = (code: number, reason: string) => {
    const metadata = new Metadata()
    const details = [
      anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { domain: "authwire", reason, metadata: { a: "b" } })),
      anyPack(
        BadRequestSchema,
        create(BadRequestSchema, { fieldViolations: [{ field: "id", description: "too long" }] }),
      ),
    ]
    const bytes = toBinary(StatusSchema, create(StatusSchema, { code, details }))
    metadata.set("grpc-status-details-bin", Buffer.from(bytes))
    return metadata
  }

  test.each([
    ["belong to another status", withDetails(status.NOT_FOUND, "USER_NOT_FOUND")],
    [
      "are broken",
      (() => {
        const metadata = new Metadata()
        metadata.set("grpc-status-details-bin", Buffer.from([0xff, 0xff]))
        return metadata
      })(),
    ],
  ])("ignores details that %s", async (_, metadata) => {
    const { users } = await connect({
      GetUser: (_, callback) => callback({ code: status.INTERNAL, details: "", metadata }),
    })
    const error = await failureOf(users.getUser({ id: "u1" }))
    expect(error.code).toBe(Code.Internal)
    expect(error.details).toEqual([])
  })

  test("a message that violates the schema is INVALID_ARGUMENT", async () => {
    const { transport } = await connect({ GetUser: echo })
    const { updateAuthenticatorCounter } = createClient(AuthenticatorService, transport)
    expect((await failureOf(updateAuthenticatorCounter({ newCounter: -1 }))).code).toBe(Code.InvalidArgument)
  })

  test("a response that is not a valid message is INTERNAL", async () => {
    const { transport } = await connect({ GetUser: echo })
    // The method's output schema does not match the bytes of the response.
    const method = { ...UserService.method.getUser, input: GetUserRequestSchema, output: StatusSchema }
    const call = transport.unary(method as never, undefined, undefined, undefined, { id: "u1" } as never)
    expect((await failureOf(call)).code).toBe(Code.Internal)
  })

  test("a call of a client that was closed before its first call fails", async () => {
    const unused = createAuthwireClient({ url: "http://127.0.0.1:1" })
    unused.close()
    expect(await failureOf(unused.adapter.getUser("u1"))).toMatchObject({
      message: "getUser: FAILED_PRECONDITION: the client is closed",
    })
  })
})

test("AuthwireAdapter over gRPC reports the address of an unreachable service", async () => {
  const { adapter, close } = createAuthwireClient({ url: "http://127.0.0.1:1" })
  cleanUps.push(close)
  const { message } = await failureOf(adapter.getUser("u1"))
  expect(message).toContain("getUser: UNAVAILABLE: cannot reach Authwire at 127.0.0.1:1: ")
  expect(message).toMatch(/ECONNREFUSED [^ ]*\. Is it running\?$/)
})

// A proxy could read the API key and the session tokens.
test.each(["http://127.0.0.1", "dns:///localhost"])(
  "a client without TLS does not use the proxy of the environment: %s",
  async (base) => {
    let connections = 0
    const proxy = createServer((socket) => {
      connections++
      socket.destroy()
    })
    process.env.http_proxy = `http://127.0.0.1:${await listen(proxy)}`
    const { port } = await serve({ GetUser: echo })
    const url = `${base}:${port}`
    const transport = grpcTransport({ url })
    const client = createAuthwireClient({ url })
    cleanUps.push(
      transport.close,
      client.close,
      () => proxy.close(),
      () => delete process.env.http_proxy,
    )
    expect((await createClient(UserService, transport).getUser({ id: "a" })).user?.id).toBe("a")
    expect((await client.adapter.getUser("a"))?.id).toBe("a")
    expect(connections).toBe(0)
  },
)
