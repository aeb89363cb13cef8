import { once } from "node:events"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from "node:tls"
import { authority, serverCertificate } from "@authwire/test-support/processes/certificates.js"
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals"
import { type SenderOptions, WebhookSender } from "./sender.js"

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

const trusted = getCACertificates()
beforeAll(() => setDefaultCACertificates([...trusted, authority.cert]))
afterAll(() => setDefaultCACertificates(trusted))

const { cert, key } = serverCertificate()

/** Writes a text again and again, as fast as it is read, until the connection is closed. */
function flood(socket: Socket, text: string, first = ""): void {
  let isWritten = socket.write(first + text)
  while (isWritten && !socket.destroyed) isWritten = socket.write(text)
  if (!socket.destroyed) socket.once("drain", () => flood(socket, text))
}

function slowly(socket: Socket, text: string): void {
  let at = 0
  const timer = setInterval(() => {
    if (socket.destroyed || at === text.length) clearInterval(timer)
    else socket.write(text.charAt(at++))
  }, 5)
}

const lines = (...texts: string[]) => texts.map((text) => `${text}\r\n`).join("")
const success = lines("HTTP/1.1 200 OK", "transfer-encoding: chunked", "")
const long = "x".repeat(8000)

/** What a receiver does with a connection, and the outcome. */
type Receiver = [name: string, answer: (socket: Socket) => void, outcome: object]

const atOnce: Receiver[] = [
  ["an endless body", (socket) => flood(socket, `1f40\r\n${long}\r\n`, success), { status: 200 }],
  ["a body without an announced end", (socket) => flood(socket, long, "HTTP/1.1 500 No\r\n\r\n"), { status: 500 }],
  ["long extensions of short chunks", (socket) => flood(socket, `1;${long}\r\nx\r\n`, success), { status: 200 }],
  ["endless trailers", (socket) => flood(socket, `x: ${long}\r\n`, `${success}0\r\n`), { status: 200 }],
  [
    "endless answers before the answer",
    (socket) => flood(socket, lines("HTTP/1.1 103 Early Hints", `link: ${long}`, "")),
    { reason: "the connection ended without an answer" },
  ],
  [
    "endless headers",
    (socket) => flood(socket, `x: ${long}\r\n`, "HTTP/1.1 200 OK\r\n"),
    { reason: "not an answer of HTTP" },
  ],
  ["something else than HTTP", (socket) => flood(socket, `220 ${long}\r\n`), { reason: "not an answer of HTTP" }],
  [
    "another protocol",
    (socket) => socket.write(lines("HTTP/1.1 101 Switching Protocols", "connection: upgrade", "upgrade: x", "")),
    { reason: "no answer" },
  ],
  ["the end", (socket) => socket.end(), { reason: "the connection ended without an answer" }],
  ["a broken body", (socket) => socket.end(`${success}ff\r\nxx`), { status: 200 }],
]

const never: Receiver[] = [
  ["silence", () => undefined, { reason: "timed out after 2 s" }],
  [
    "a header whose bytes come one by one",
    (socket) => slowly(socket, `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(100)}`),
    { reason: "timed out after 2 s" },
  ],
  // The receiver has answered.
  ["a body that does not come", (socket) => socket.write(success), { status: 200 }],
]

async function answering(server: Server, answer: (socket: Socket) => void, event = "connection") {
  const sockets: Socket[] = []
  server.on(event, (socket: Socket) => {
    sockets.push(socket)
    socket.on("error", () => undefined)
    answer(socket)
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  ends.push(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { at: `127.0.0.1:${(server.address() as AddressInfo).port}/`, sockets }
}

function send(url: string, options: SenderOptions = {}, body = "{}") {
  const sender = new WebhookSender({ dev: true, allowPrivate: [] }, options)
  const delivery = { url, secrets: [`whsec_${btoa("secret")}`], id: "msg_1", at: new Date(), body }
  return sender.send(delivery, new AbortController().signal)
}

/** What was sent and not read is in buffers of the system. */
const maxBytes = 16 * 1024 * 1024

test.each(atOnce)("a receiver that answers with %s is not read on", async (_, answer, outcome) => {
  const plain = await answering(createServer(), answer)
  const secure = await answering(createTlsServer({ cert, key }), answer, "secureConnection")
  expect(await send(`http://${plain.at}`)).toMatchObject(outcome)
  expect(await send(`https://${secure.at}`)).toMatchObject(outcome)
  const written = [plain, secure].flatMap(({ sockets }) => sockets.map((socket) => socket.bytesWritten))
  expect(written).toEqual([expect.any(Number), expect.any(Number)])
  expect(Math.max(...written)).toBeLessThan(maxBytes)
})

test.each(never)("a receiver that answers with %s is left in time", async (_, answer, outcome) => {
  const { at, sockets } = await answering(createServer(), answer)
  expect(await send(`http://${at}`, { timeoutMs: 2_000 })).toMatchObject(outcome)
  expect(sockets).toHaveLength(1)
})

test("a receiver that does not read a large message is left in time", async () => {
  const { at } = await answering(createServer({ pauseOnConnect: true }), () => undefined)
  const outcome = await send(`http://${at}`, { timeoutMs: 2_000 }, "x".repeat(maxBytes))
  expect(outcome).toMatchObject({ kind: "failed", reason: "timed out after 2 s" })
})
