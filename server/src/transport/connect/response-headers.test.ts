import { once } from "node:events"
import http from "node:http"
import { type AddressInfo, connect } from "node:net"
import { setImmediate } from "node:timers/promises"
import { closed } from "@authwire/test-support/connections/closed.js"
import { afterEach, expect, jest, test } from "@jest/globals"
import { limits } from "../limits/limits.js"
import { answerClientErrors, http1Response } from "./response-headers.js"

const get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"
const malformed = "GET / HTTP/9\r\n\r\n"

const ends: (() => void)[] = []
afterEach(() => {
  jest.useRealTimers()
  for (const end of ends.splice(0)) end()
})

/** Opens a connection to a server. The test answers the requests. */
async function open(shouldReconnect?: () => boolean) {
  const headers = { "x-test": "1" }
  const server = http.createServer({ ServerResponse: http1Response(headers, shouldReconnect) })
  answerClientErrors(server, headers)
  const responses: http.ServerResponse[] = []
  server.on("request", (_, response) => responses.push(response))
  await once(server.listen(0, "127.0.0.1"), "listening")
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1")
  client.on("error", () => {})
  let text = ""
  client.on("data", (chunk) => {
    text += chunk
  })
  ends.push(() => {
    client.destroy()
    server.close()
  })
  return {
    client,
    /** Sends requests, and waits until so many have arrived in all. */
    async send(requests: string, count: number) {
      client.write(requests)
      while (responses.length < count) await once(server, "request")
      return responses
    },
    /** Waits until the client has received a text. */
    async received(part: string) {
      while (!text.includes(part)) await once(client, "data")
      text = ""
    },
    async rest() {
      await closed(client)
      return text
    },
  }
}

/** Time passes only by `advanceTimersByTime`. */
const stopClock = () => jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] })

test("a connection is closed when too many requests arrive before the first is answered", async () => {
  const { client, send, rest } = await open()
  await send(get.repeat(limits.pipelinedRequests), limits.pipelinedRequests)
  client.write(get)
  expect(await rest()).toBe("")
})

test("requests that were answered do not count", async () => {
  const { send, received } = await open()
  for (let count = 1; count <= 2 * limits.pipelinedRequests; count++) {
    const responses = await send(get, count)
    responses.at(-1)?.end("answered")
    await received("answered")
  }
})

test("a connection that ends after an answer delivers the whole answer, and none to another request", async () => {
  const { client, send, received, rest } = await open(() => true)
  const [response] = await send(get, 1)
  response?.writeHead(200, { "content-length": 8 })
  response?.write("ans")
  await received("connection: close")
  response?.end("wered")
  client.write(get)
  expect(await rest()).toBe("wered")
})

test("an answer that ends the connection waits for the rest of its request", async () => {
  const { client, send, received, rest } = await open(() => true)
  const [response] = await send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\nabc", 1)
  response?.writeHead(401, { "content-length": 4 })
  response?.write("late")
  response?.end()
  await received("late")
  expect(client.readableEnded).toBe(false)
  client.write("def")
  expect(await rest()).toBe("")
})

test("an answer that ends the connection does not wait long for the rest of its request", async () => {
  const { send, rest } = await open(() => true)
  const [response] = await send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\nabc", 1)
  stopClock()
  response?.end("early")
  jest.advanceTimersByTime(limits.lingerHttp1Ms)
  expect(await rest()).toContain("early")
})

test("of a request that was answered early a limited number of chunks is read, also of a single byte each", async () => {
  const { client, send, received } = await open()
  const [response] = await send("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n", 1)
  const { socket } = response!.req
  // It does not notice that its client has gone, because it is not read.
  ends.push(() => socket.destroy())
  response?.end("early")
  await received("early")
  for (let sent = 0; sent < 100; sent++) {
    client.write("1\r\na\r\n".repeat(2_000))
    await setImmediate()
  }
  expect(socket.destroyed).toBe(false)
  // Node reads up to 64 KiB at once.
  expect(socket.bytesRead).toBeLessThan(3 * 64 * 1024)
})

test("a client that stands still for seconds in a request that was answered early keeps its connection", async () => {
  const { send, received } = await open()
  const [response] = await send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\nabc", 1)
  stopClock()
  response?.end("early")
  await received("early")
  jest.advanceTimersByTime(4_000)
  const [, next] = await send(`def${get}`, 2)
  next?.end("next")
  await received("next")
})

test("a malformed request is answered, and the connection is closed", async () => {
  const { client, rest } = await open()
  client.write(malformed)
  expect(await rest()).toBe("HTTP/1.1 400 Bad Request\r\nconnection: close\r\nx-test: 1\r\n\r\n")
})

test("a malformed request is not answered in the middle of another answer", async () => {
  const { client, send, received, rest } = await open()
  const [response] = await send(get, 1)
  response?.writeHead(200, { "content-length": 8 })
  response?.write("ans")
  await received("ans")
  client.write(malformed)
  expect(await rest()).toBe("")
})
