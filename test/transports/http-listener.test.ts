import { once } from "node:events"
import http2 from "node:http2"
import net from "node:net"
import { text } from "node:stream/consumers"
import { AuthwireAdapter } from "@authwire/client/edge"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { describe, expect, test } from "@jest/globals"

const path = "/authwire.v1.UserService/GetUser"
const json = { "content-type": "application/json" }

describe("the HTTP listener", () => {
  const authwire = useAuthwire("sqlite")

  interface Asked {
    method: string
    path: string
    headers?: Record<string, string>
    body?: string
  }
  type Answered = { status: number; headers: Record<string, unknown>; body: string }
  const overHttp1 = async ({ method, path, headers = {}, body }: Asked): Promise<Answered> => {
    const response = await fetch(`${authwire.server.httpUrl}${path}`, { method, headers, ...(body && { body }) })
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
  }
  const overHttp2 = async ({ method, path, headers, body }: Asked): Promise<Answered> => {
    const session = http2.connect(authwire.server.httpUrl)
    const stream = session.request({ ":method": method, ":path": path, ...headers })
    stream.end(body)
    const [response] = (await once(stream, "response")) as [http2.IncomingHttpHeaders]
    const content = await text(stream)
    session.close()
    return { status: Number(response[":status"]), headers: response, body: content }
  }

  describe.each([
    ["HTTP/1.1", overHttp1],
    ["HTTP/2", overHttp2],
  ])("over %s", (_, ask) => {
    test.each<[string, number, Asked]>([
      ["a call", 200, { method: "POST", path: path.replace("Get", "Create"), headers: json, body: '{"name": "n"}' }],
      ["a call that fails", 404, { method: "POST", path, headers: json, body: '{"id": "nobody"}' }],
      ["a call that cannot be read", 400, { method: "POST", path, headers: json, body: "{" }],
      ["a type that is not spoken", 415, { method: "POST", path, headers: { "content-type": "text/html" }, body: "x" }],
      ["a path that is not there", 404, { method: "POST", path: "/nothing", body: "x" }],
      ["a GET of a method", 405, { method: "GET", path }],
      ["a preflight request", 405, { method: "OPTIONS", path, headers: { origin: "http://localhost:3000" } }],
      ["one of another origin, with --dev", 403, { method: "OPTIONS", path, headers: { origin: "https://a.test" } }],
      ["a probe", 200, { method: "GET", path: "/healthz" }],
    ])("S-8, S-34: %s: no page, no other origin and no cache gets hold of the answer", async (_, status, asked) => {
      const answer = await ask(asked)
      expect(answer.status).toBe(status)
      expect(answer.headers).toMatchObject({
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
      })
      const revealing = /^(access-control-.*|server|x-powered-by|via|strict-transport-security)$/
      expect(Object.keys(answer.headers).filter((name) => revealing.test(name))).toEqual([])
      expect(answer.body).not.toMatch(/at .*\.js|node_modules|Error:/)
    })

    test.each(["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])(
      "methods cannot be called with %s",
      async (method) => {
        // Written as Connect would write it, because GetUser has no side effects.
        const query = `?connect=v1&encoding=json&message=${encodeURIComponent('{"id":"nobody"}')}`
        const { status, headers, body } = await ask({
          method,
          path: path + query,
          headers: { origin: "http://localhost:3000" },
        })
        expect(status).toBe(405)
        expect(headers.allow).toBe("POST")
        expect(body).toBe("")
      },
    )
  })

  test("a request with no host, or with one that is none, gets 400, and the process lives on", async () => {
    // With --dev the name of the host is checked first.
    const { httpUrl: url, apiKey, stop } = await startServer({ databaseUrl: "sqlite::memory:", keys: true })
    for (const rest of ["1.0\r\n", ...["[", "a:b"].map((host) => `1.1\r\nhost: ${host}\r\nconnection: close\r\n`)]) {
      const socket = net.connect(Number(new URL(url).port), "127.0.0.1")
      socket.write(`POST ${path} HTTP/${rest}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`)
      const answer = await text(socket)
      expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/)
      expect(answer).toContain("\r\nthe request names no host\n")
      expect(await AuthwireAdapter({ url, apiKey }).getUser?.("nobody")).toBeNull()
    }
    await stop()
  })
})
