import { once } from "node:events"
import http from "node:http"
import { type AddressInfo, connect, createServer } from "node:net"
import { closed } from "@authwire/test-support/connections/closed.js"
import { expect, test } from "@jest/globals"
import { limits } from "../limits/limits.js"
import { http1Connections } from "./http1-connections.js"
import { http1Response } from "./response-headers.js"

test("S-40: of thousands of requests in the first bytes, none is read after the one that is too many", async () => {
  let served = 0
  const server = http.createServer({ ServerResponse: http1Response({}) })
  const handler = { serve: () => void served++, rejectWith: () => () => {} }
  const { accept } = http1Connections({ server, headers: {}, headerTimeoutMs: 10_000, handler, onLargeHeader() {} })
  const listener = createServer(accept).listen(0, "127.0.0.1")
  await once(listener, "listening")
  const client = connect((listener.address() as AddressInfo).port, "127.0.0.1")
  const isClosed = closed(client)
  client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2_000))
  await isClosed
  listener.close()
  expect(served).toBe(limits.pipelinedRequests + 1)
})
