import { once } from "node:events"
import { connect, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2"
import type { AddressInfo } from "node:net"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { expect, test } from "@jest/globals"
import type { Router } from "../../rpc/router.js"
import { endWithStatus } from "./answer.js"
import { streamRouter } from "./streams.js"

const later = endsAfterEach()

/** Sends a request to a server that handles its stream so, and returns the client's stream. */
async function request(handle: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void) {
  const server = createServer().on("stream", handle).listen(0, "127.0.0.1")
  await once(server, "listening")
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  later(async () => {
    session.destroy()
    server.close()
  })
  return session.request({ ":method": "POST" }, { endStream: true })
}

test("a stream that its client has already reset is neither answered nor counted", async () => {
  const route = streamRouter({ services: [] } as unknown as Router, false, never, never)
  const thrown: unknown[] = []
  const stream = await request((stream, headers) => {
    stream.destroy()
    try {
      route(stream, headers)
    } catch (error) {
      thrown.push(error)
    }
  })
  await once(stream, "close")
  expect(thrown).toEqual([])
})

function never(): never {
  throw new Error("is called")
}

test("a status may have any message, and has its details in base64 without padding", async () => {
  const stream = await request((stream) => {
    const detail = { $typeName: "google.protobuf.Any" as const, typeUrl: "a", value: new Uint8Array() }
    endWithStatus(stream, { code: 3, message: "100 % \ud83d", details: [detail] })
  })
  const [header] = await once(stream, "response")
  expect(header["grpc-message"]).toBe("100%20%25%20%EF%BF%BD")
  const details = String(header["grpc-status-details-bin"])
  expect(details).toMatch(/^[A-Za-z\d+/]+$/)
  expect(Buffer.from(details, "base64").subarray(-3).toString("latin1")).toBe("\n\u0001a")
})
