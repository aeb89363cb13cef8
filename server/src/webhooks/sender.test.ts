import { execFile } from "node:child_process"
import { createServer, type IncomingMessage, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { promisify } from "node:util"
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

function send(url: string) {
  const sender = new WebhookSender({ dev: true, allowPrivate: [] })
  const { signal } = new AbortController()
  return sender.send({ url, secrets, id: "msg_1", at: new Date(), body: '{"name":"Zoë"}' }, signal)
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

  test("S-61: a redirect to a private address is not followed", async () => {
    let reached = 0
    const hidden = await receiver((_, response) => {
      reached++
      response.end()
    })
    for (const status of [301, 302, 303, 307, 308]) {
      const url = await receiver((_, response) => {
        response.writeHead(status, { location: hidden, refresh: `0; url=${hidden}` }).end()
      })
      expect(await send(url)).toMatchObject({ kind: "answered", status })
    }
    expect(reached).toBe(0)
  })

  test("fails if its receiver does not speak TLS", async () => {
    const url = await receiver((_, response) => response.end())
    const reason = "not a connection of TLS"
    expect(await send(url.replace("http:", "https:"))).toMatchObject({ kind: "failed", reason })
  })

  test("has the pause that its receiver asks for", async () => {
    const url = await receiver((_, response) => response.writeHead(429, { "retry-after": "90" }).end())
    expect(await send(url)).toMatchObject({ kind: "answered", status: 429, retryAfterMs: 90_000 })
  })

  test("S-61: goes through no proxy that the environment names", async () => {
    const visited: string[] = []
    const url = await receiver((_, response) => response.writeHead(204).end())
    const proxy = await receiver((request, response) => {
      visited.push(request.url ?? "")
      response.writeHead(418).end()
    })
    const code = `
      import { get } from "node:http"
      import { WebhookSender } from ${JSON.stringify(new URL("../../dist/webhooks/sender.js", import.meta.url).href)}
      const sender = new WebhookSender({ dev: true, allowPrivate: [] })
      const delivery = { secrets: [${JSON.stringify(secrets[0])}], id: "msg_1", at: new Date(), body: "{}" }
      const { status } = await sender.send({ ...delivery, url: ${JSON.stringify(url)} }, new AbortController().signal)
      get("http://127.0.0.1:1/others", (response) => {
        response.resume()
        console.log(status, response.statusCode)
      })`
    const { origin } = new URL(proxy)
    const proxies = { HTTP_PROXY: origin, HTTPS_PROXY: origin, http_proxy: origin, https_proxy: origin }
    const env = { PATH: process.env.PATH, NODE_USE_ENV_PROXY: "1", ...proxies }
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", code], { env })
    // The second request shows that the proxy is in use.
    expect([stdout, visited]).toEqual(["204 418\n", ["http://127.0.0.1:1/others"]])
  })

  test.each(["a stopping service", "close"])("is given up by %s", async (by) => {
    const stopping = new AbortController()
    const sender = new WebhookSender({ dev: true, allowPrivate: [] })
    const url = await receiver(() => (by === "close" ? sender.close() : stopping.abort()))
    const delivery = { url, secrets, id: "msg_1", at: new Date(), body: "{}" }
    expect(await sender.send(delivery, stopping.signal)).toMatchObject({ kind: "failed", reason: "given up" })
    expect(await sender.send(delivery, stopping.signal)).toMatchObject({ kind: "failed", reason: "given up" })
  })
})
