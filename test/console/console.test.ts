import { once } from "node:events"
import { Agent, createServer, request, type Server } from "node:http"
import { connect } from "node:net"
import { type Console, startConsole } from "@authwire/console"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"

const apiKey = "awk_key_of-the-console"
interface SentOptions {
  method?: string
  headers?: Record<string, string>
  /** Of a POST. */
  body?: string
}

const getUser = "/rpc/authwire.v1.UserService/GetUser"

describe("the console's access", () => {
  let service: Server
  let authorization: (string | undefined)[] = []
  const keys: unknown[] = []
  /** Where the service sends its callers. */
  let redirectsTo: string | undefined
  let opened: Console
  let addresses: string[] = []
  let used: string | undefined
  beforeAll(async () => {
    service = createServer((asked, response) => {
      authorization.push(asked.headers.authorization)
      if (redirectsTo !== undefined) return void response.writeHead(307, { location: redirectsTo }).end()
      if (asked.headers["idempotency-key"] !== undefined) keys.push(asked.headers["idempotency-key"])
      response.setHeader("content-type", "application/json").end("{}")
    })
    const port = await listen(service)
    opened = await startConsole({
      service: `http://127.0.0.1:${port}`,
      apiKey,
      onAddress: (url) => addresses.push(url),
    })
  })
  afterAll(async () => {
    await opened.close()
    service.close()
  })
  beforeEach(() => {
    authorization = []
  })

  /** Sends a request as a browser does, or as another program. */
  const send = (path: string, { method = "GET", headers = {}, body: sentBody = "{}" }: SentOptions = {}) =>
    new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
      const { host, hostname, port } = new URL(opened.url)
      const sent = request({ hostname, port, path, method, headers: { host, ...headers } }, (response) => {
        let body = ""
        response.setEncoding("utf8").on("data", (chunk) => (body += chunk))
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
      })
      sent.on("error", reject).end(method === "POST" ? sentBody : undefined)
    })

  /** What a browser has after it has opened the printed address. */
  const open = async () => {
    if (addresses.at(-1) === used) await send("/")
    used = addresses.at(-1)
    const { pathname, search } = new URL(addresses.at(-1) as string)
    const { status, headers } = await send(pathname + search)
    expect(status).toBe(303)
    const [cookie = ""] = (headers["set-cookie"] as string[]).map((one) => one.split(";", 1)[0])
    expect(String(headers["set-cookie"])).toMatch(/; HttpOnly; SameSite=Strict$/)
    const page = /^\/#page=(.+)$/.exec(String(headers.location))?.[1] as string
    return { cookie, page }
  }

  test("a printed address works once, and the next one is printed when somebody comes without access", async () => {
    await open()
    const before = addresses.length
    const { pathname, search } = new URL(used as string)
    expect((await send(pathname + search)).status).toBe(403)
    expect((await send("/")).status).toBe(403)
    // One only, however many come.
    expect((await send("/")).status).toBe(403)
    expect(addresses).toHaveLength(before + 1)
    expect((await send("/?token=wrong")).status).toBe(403)
    expect(addresses).toHaveLength(before + 1)
  })

  test("its page gets files and makes calls, and the key stays in the process", async () => {
    const { cookie, page } = await open()
    const files = await send("/users/some-user", { headers: { cookie } })
    expect(files).toMatchObject({ status: 200, headers: { "content-type": "text/html; charset=utf-8" } })
    const policy = String(files.headers["content-security-policy"])
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/)
    expect(policy).not.toMatch(/unsafe|http|\*/)
    const headers = { cookie, "x-console-page": page, origin: opened.url, "sec-fetch-site": "same-origin" }
    const called = await send(getUser, { method: "POST", headers: { ...headers, "idempotency-key": "once" } })
    expect(called).toMatchObject({ status: 200, body: "{}" })
    expect(keys).toEqual(["once"])
    expect(authorization).toEqual([`Bearer ${apiKey}`])
    expect(JSON.stringify([files, called])).not.toContain(apiKey)
  })

  test("its page can be loaded again at every user, whatever the id has in it", async () => {
    const { cookie } = await open()
    for (const path of ["/users/a.b", "/users/ann%40example.com", "/users/x.js", "/users/%"]) {
      const { status, headers } = await send(path, { headers: { cookie } })
      expect([path, status, headers["content-type"]]).toEqual([path, 200, "text/html; charset=utf-8"])
    }
    expect((await send("/assets/none.js", { headers: { cookie } })).status).toBe(404)
  })

  test("connections without the cookie do not keep out who has it", async () => {
    const { cookie } = await open()
    const { hostname, port } = new URL(opened.url)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const { host } = new URL(opened.url)
    const loaded = () =>
      new Promise<unknown>((resolve, reject) => {
        const asked = request({ hostname, port, path: "/", headers: { host, cookie }, agent }, (response) => {
          response.resume().once("end", () => resolve([response.statusCode, asked.reusedSocket]))
        })
        asked.on("error", reject).end()
      })
    expect(await loaded()).toEqual([200, false])
    const idle = Array.from({ length: 150 }, () => connect(Number(port), hostname).on("error", () => {}))
    await Promise.all(idle.map((socket) => once(socket, "connect")))
    await until(() => idle.filter(({ closed }) => closed).length >= 100)
    // Neither an open connection nor a new one.
    expect(await loaded()).toEqual([200, true])
    expect((await send("/", { headers: { cookie } })).status).toBe(200)
    agent.destroy()
    for (const socket of idle) socket.destroy()
  })

  test.each<[string, string, Record<string, string>]>([
    ["another host, as after DNS rebinding", getUser, { host: "evil.example" }],
    ["another port of this host", getUser, { host: "127.0.0.1:1" }],
    ["localhost, which another program may own", getUser, { host: "localhost" }],
    ["the origin of another page", getUser, { origin: "https://evil.example" }],
    ["the origin of another port", getUser, { origin: "http://127.0.0.1:1" }],
    ["an opaque origin", getUser, { origin: "null" }],
    ["another site", getUser, { "sec-fetch-site": "cross-site" }],
    ["another port, as a browser says it", getUser, { "sec-fetch-site": "same-site" }],
    ["no cookie", getUser, { cookie: "" }],
    ["another cookie", getUser, { cookie: "authwire_console=x" }],
    ["no secret of the page, as a server has that was sent the cookie", getUser, { "x-console-page": "" }],
    ["a method that the page does not use", "/rpc/authwire.v1.TokenService/Encode", {}],
    ["a method by another path", "/rpc/../rpc/authwire.v1.UserService/ExportUser", {}],
    ["another service", "/rpc/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", {}],
    ["an address", "/rpc/http://evil.example/authwire.v1.UserService/GetUser", {}],
  ])("rejects %s", async (_, path, more) => {
    const { cookie, page } = await open()
    const headers = { cookie, "x-console-page": page, origin: opened.url, ...more }
    expect((await send(path, { method: "POST", headers })).status).toBe(403)
    expect(authorization).toEqual([])
  })

  test("a request of more than 1 MiB is rejected, and not forwarded", async () => {
    const { cookie, page } = await open()
    const headers = { cookie, "x-console-page": page }
    const large = await send(getUser, { method: "POST", headers, body: "x".repeat(1024 * 1024 + 1) })
    expect([large.status, JSON.parse(large.body).code]).toEqual([413, "resource_exhausted"])
    expect(authorization).toEqual([])
    expect((await send(getUser, { method: "POST", headers, body: "x".repeat(1024 * 1024) })).status).toBe(200)
  })

  test("a service that sends its callers elsewhere is not followed, so that nobody else gets the key", async () => {
    const asked: unknown[] = []
    const elsewhere = createServer(({ headers }, response) => {
      asked.push(headers)
      response.end("{}")
    })
    redirectsTo = `http://127.0.0.1:${await listen(elsewhere)}/`
    try {
      const { cookie, page } = await open()
      const headers = { cookie, "x-console-page": page }
      expect((await send(getUser, { method: "POST", headers })).status).toBe(503)
      expect(JSON.parse((await send("/status", { headers })).body)).toMatchObject({ isReady: false })
      expect(asked).toEqual([])
    } finally {
      redirectsTo = undefined
      elsewhere.close()
    }
  })

  test("a key of another tenant than --tenant shows and does nothing", async () => {
    let answers: { status: number; body: object } = { status: 200, body: { tenant: "acme" } }
    const asked: string[] = []
    const ofTenant = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers.authorization}`)
      const isAboutKey = request.url?.endsWith("/GetCurrentApiKey") === true
      response.writeHead(isAboutKey ? answers.status : 200, { "content-type": "application/json" })
      response.end(isAboutKey ? JSON.stringify(answers.body) : "{}")
    })
    const service = `http://127.0.0.1:${await listen(ofTenant)}`
    const before = opened
    const check = "/authwire.v1.ApiKeyService/GetCurrentApiKey Bearer awk_key_of-the-console"
    try {
      for (const [tenant, expected, last] of [
        ["globex", [403, "permission_denied"], check],
        ["acme", [200, undefined], "/authwire.v1.UserService/GetUser Bearer awk_key_of-the-console"],
      ] as const) {
        opened = await startConsole({ service, apiKey, tenant, onAddress: (url) => addresses.push(url) })
        const { cookie, page } = await open()
        const call = async () => {
          const headers = { cookie, "x-console-page": page }
          const { status, body } = await send(getUser, { method: "POST", headers })
          return [status, JSON.parse(body).code]
        }
        // Until the service has said of which tenant the key is, nothing is forwarded.
        answers = { status: 503, body: { code: "unavailable", message: "not now" } }
        expect([tenant, await call(), asked.at(-1)]).toEqual([tenant, [503, "unavailable"], check])
        answers = { status: 401, body: { code: "unauthenticated", message: "the API key was revoked" } }
        expect([tenant, await call(), asked.at(-1)]).toEqual([tenant, [401, "unauthenticated"], check])
        answers = { status: 200, body: { tenant: "acme" } }
        expect([tenant, await call(), asked.at(-1)]).toEqual([tenant, expected, last])
        if (tenant === "acme") {
          // A key of the service's configuration may get another tenant. The console asks again after some seconds.
          answers = { status: 200, body: { tenant: "globex" } }
          await until(async () => (await call())[0] === 403)
        }
        await opened.close()
      }
    } finally {
      opened = before
      ofTenant.closeAllConnections()
      ofTenant.close()
      addresses = []
    }
  })

  test("a service that is away is an error of the call, and its state", async () => {
    const away = await startConsole({ service: "http://127.0.0.1:1", onAddress: (url) => addresses.push(url) })
    const before = opened
    opened = away
    try {
      const { cookie, page } = await open()
      const headers = { cookie, "x-console-page": page }
      const called = await send(getUser, { method: "POST", headers })
      expect([called.status, JSON.parse(called.body).code]).toEqual([503, "unavailable"])
      expect(JSON.parse((await send("/status", { headers })).body)).toMatchObject({ isReady: false })
    } finally {
      opened = before
      await away.close()
      addresses = []
    }
  })
})
