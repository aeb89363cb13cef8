import { createServer } from "node:http2"
import { UserService } from "@authwire/proto"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { Metadata, status } from "@grpc/grpc-js"
import { afterEach, describe, expect, test } from "@jest/globals"
import { grpcServer } from "../../test/grpc-server.js"
import { createAuthwireClient } from "../index.js"
import { grpcTransport } from "./grpc.js"

const cleanUps: (() => void)[] = []
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

function usersAt(url: string) {
  const transport = grpcTransport({ url })
  cleanUps.push(transport.close)
  return createClient(UserService, transport)
}

const failureOf = (call: Promise<unknown>) => call.then(() => undefined, ConnectError.from)

// grpc-js ends such a call without a code. An exception in its callback would end the process.
describe("a response that says that it is compressed, and not how", () => {
  async function startServer(): Promise<string> {
    const server = createServer().on("stream", (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" })
      stream.end(Buffer.of(1, 0, 0, 0, 1, 0))
    })
    cleanUps.push(() => server.close())
    return `http://127.0.0.1:${await listen(server)}`
  }

  test("fails a call with INTERNAL", async () => {
    const error = await failureOf(usersAt(await startServer()).getUser({ id: "u1" }))
    expect(error).toMatchObject({ code: Code.Internal, rawMessage: "the response cannot be read" })
  })

  test("fails the calls of a pipeline", async () => {
    const client = createAuthwireClient({ url: await startServer() })
    cleanUps.push(client.close)
    expect((await failureOf(client.adapter.getUser("u1")))?.message).toContain("the response cannot be read")
  })
})

test("an error has the header and the trailer of its response", async () => {
  const { url, stop } = await grpcServer(UserService, {
    GetUser: (call, callback) => {
      const [header, trailer] = [new Metadata(), new Metadata()]
      header.set("x-first", "1")
      trailer.set("x-last", "2")
      call.sendMetadata(header)
      callback({ code: status.NOT_FOUND, metadata: trailer })
    },
  })
  cleanUps.push(stop)
  const error = await failureOf(usersAt(url).getUser({ id: "u1" }))
  expect([error?.metadata.get("x-first"), error?.metadata.get("x-last")]).toEqual(["1", "2"])
})
