import { createServer, type IncomingMessage, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, test } from "@jest/globals"
import { Webhook } from "standardwebhooks"
import { WebhookSender } from "./sender.js"

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`
const secrets = [secretOf(1), secretOf(2)]

/** Starts a receiver on loopback, and returns its URL. */
async function receiver(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1")
  ends.push(() => server.close())
  await new Promise((resolve) => server.once("listening", resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?a=b`
}

function send(url: string, { more = {}, signal = new AbortController().signal } = {}) {
  const sender = new WebhookSender({ dev: true, allowPrivate: [] })
  return sender.send({ url, secrets, id: "msg_1", at: new Date(), body: '{"name":"Zoë"}', ...more }, signal)
}

describe("a delivery", () => {
  test("is a POST of JSON that the receiver's library verifies with each of the secrets", async () => {
    const received: { request: IncomingMessage; body: string }[] = []
    const url = await receiver(async (request, response) => {
      received.push({ request, body: Buffer.concat(await request.toArray()).toString() })
      response.writeHead(204).end()
    })
    expect(await send(url)).toEqual({ kind: "answered", status: 204, durationMs: expect.any(Number) })
    expect(received).toHaveLength(1)
    for (const { request, body } of received) {
      expect([request.method, request.url]).toEqual(["POST", "/hook?a=b"])
      expect(request.headers["content-type"]).toBe("application/json")
      expect(request.headers["user-agent"]).toMatch(/^Authwire\/\d+\.\d+\.\d+/)
      const headers = request.headers as Record<string, string>
      for (const secret of secrets) expect(new Webhook(secret).verify(body, headers)).toEqual({ name: "Zoë" })
      expect(() => new Webhook(secretOf(3)).verify(body, headers)).toThrow("No matching signature")
    }
  })

  test.each([200, 299, 301, 307, 410, 500])(
    "that is answered with %s has this status, and no redirect is followed",
    async (status) => {
      let count = 0
      const url = await receiver((request, response) => {
        count++
        response.writeHead(status, { location: request.url }).end()
      })
      expect(await send(url)).toMatchObject({ kind: "answered", status })
      expect(count).toBe(1)
    },
  )
})
