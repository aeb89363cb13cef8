import { connect, type Socket } from "node:net"
import { paths } from "@authwire/test-support/attack/requests.js"
import { startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { closed } from "@authwire/test-support/connections/closed.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

/** A body in chunks of one byte, without its end. All of them are read at once, and each costs as much time as a large one. */
const chunks = "1\r\na\r\n".repeat(10_000)

describe("S-39: HTTP/1.1 requests in chunks of one byte", () => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget()
  })
  afterAll(() => target.close())
  const later = endsAfterEach()

  /** Sends such a request over a new connection, in which more may follow. */
  function begin(method: string, path: string): Socket {
    const socket = connect({ port: Number(new URL(target.server.httpUrl).port), host: "127.0.0.1" })
    later(async () => socket.destroy())
    socket.on("error", () => {})
    const lines = [`${method} ${path} HTTP/1.1`, "host: a", "content-type: application/json"]
    socket.write(`${lines.join("\r\n")}\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`)
    return socket
  }

  test("the connection is closed if they arrive before the call was rejected", async () => {
    let received = ""
    const socket = begin("POST", paths.getUser).on("data", (data) => {
      received += data
    })
    await closed(socket)
    expect(received).toBe("")
  })

  test("that are answered without reading them: the connection is closed, and what follows them is not handled", async () => {
    const requests = [
      ["GET", "/healthz", "200"],
      ["POST", "/unknown", "404"],
    ] as const
    const answers = requests.map(async ([method, path]) => {
      const socket = begin(method, path)
      let received = ""
      socket.on("data", (data) => {
        received += data
      })
      socket.write("0\r\n\r\nGET /readyz HTTP/1.1\r\nhost: a\r\n\r\n")
      await closed(socket)
      return received.match(/HTTP\/1\.1 \d+/g)
    })
    expect(await Promise.all(answers)).toEqual(requests.map(([, , status]) => [`HTTP/1.1 ${status}`]))
  })
})
