import { once } from "node:events"
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2"
import { connect, type Socket } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"

const later = endsAfterEach()

/** The time that the service gives its clients, in milliseconds. So much that a busy machine does not use it up before the pause. */
const timeoutMs = 4_000
/** Longer than the longest wait that results from it, for the next header of a connection that was used before. */
const pauseMs = 2 * timeoutMs + 500

interface Client {
  /** Sends what the service waits for. */
  send(): void
  /** What the service has answered, or undefined if it has closed the connection. */
  answer(): Promise<unknown>
}

const request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
/** A frame of HTTP/2 on stream 0. */
const frame = (type: number, payload: Buffer) =>
  Buffer.concat([Buffer.from([0, 0, payload.length, type, 0, 0, 0, 0, 0]), payload])
const settingsAndPing = [frame(4, Buffer.alloc(0)), frame(6, Buffer.from("8 octets"))]
const preface = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ...settingsAndPing])

/** Connects, and sends the first bytes of what is sent as a whole in the pause. */
async function raw(url: string, whole: Buffer, begun: number, answer: RegExp): Promise<Client> {
  const { hostname, port } = new URL(url)
  const socket: Socket = connect(Number(port), hostname)
  later(async () => void socket.destroy())
  let received = ""
  socket.setEncoding("latin1").on("data", (text: string) => {
    received += text
  })
  socket.on("error", () => {})
  await once(socket, "connect")
  socket.write(whole.subarray(0, begun))
  if (begun === whole.length) await until(() => answer.test(received))
  return {
    send() {
      received = ""
      socket.write(begun === whole.length ? whole : whole.subarray(begun))
    },
    async answer() {
      await until(() => answer.test(received) || socket.destroyed)
      return answer.exec(received)?.[0]
    },
  }
}

async function session(url: string): Promise<ClientHttp2Session> {
  const session = connectHttp2(url)
  session.on("error", () => {})
  later(async () => session.destroy())
  await once(session, "remoteSettings")
  return session
}

async function idleSession(url: string): Promise<Client> {
  const idle = await session(url)
  let answer: Promise<unknown> = Promise.resolve()
  return {
    send() {
      const response = once(idle.request({ ":path": "/healthz" }), "response")
      answer = response.then(
        ([header]) => header[":status"],
        () => undefined,
      )
    },
    answer: () => answer,
  }
}

// What has arrived meanwhile is in the sockets when the process continues, so the clients were not late, only the service.
test("what clients send while the service stands still is in time, whatever the service was waiting for", async () => {
  const database = await createDatabase("sqlite")
  later(database.drop)
  const timeouts = [`--handshake-timeout-ms=${timeoutMs}`, `--idle-timeout-ms=${timeoutMs}`]
  const server = await startServer({ databaseUrl: database.url, args: timeouts })
  later(async () => void (await server.stop()))
  const { grpcUrl, httpUrl, pid } = server
  const [header, ok, pong] = [Buffer.from(request), /\nok\n/, /8 octets/]
  const clients: Record<string, Client> = {
    "a header of HTTP/1.1": await raw(httpUrl, header, 0, ok),
    "the rest of a header of HTTP/1.1": await raw(httpUrl, header, 20, ok),
    "the next request of HTTP/1.1": await raw(httpUrl, header, header.length, ok),
    "the preface of HTTP/2 at the HTTP listener": await raw(httpUrl, preface, 0, pong),
    "the preface of HTTP/2 at the gRPC listener": await raw(grpcUrl, preface, 0, pong),
    "the next request of HTTP/2": await idleSession(httpUrl),
  }
  // These connections come later, so the service has accepted the others.
  for (const url of [grpcUrl, httpUrl]) await session(url)

  process.kill(pid, "SIGSTOP")
  for (const { send } of Object.values(clients)) send()
  await delay(pauseMs)
  process.kill(pid, "SIGCONT")

  const answers: Record<string, unknown> = {}
  for (const [name, { answer }] of Object.entries(clients)) answers[name] = await answer()
  expect(answers).toEqual({
    "a header of HTTP/1.1": "\nok\n",
    "the rest of a header of HTTP/1.1": "\nok\n",
    "the next request of HTTP/1.1": "\nok\n",
    "the preface of HTTP/2 at the HTTP listener": "8 octets",
    "the preface of HTTP/2 at the gRPC listener": "8 octets",
    "the next request of HTTP/2": 200,
  })
})
