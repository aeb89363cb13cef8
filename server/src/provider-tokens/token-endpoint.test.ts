import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { gzipSync } from "node:zlib"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import type { Provider } from "./provider.js"
import { refreshAtEndpoint } from "./token-endpoint.js"

type Handler = (response: ServerResponse, request: IncomingMessage) => unknown

const now = Date.UTC(2030, 0, 1, 0, 0, 0, 999)
const seconds = Math.floor(now / 1000)
const good = { access_token: "a2", token_type: "Bearer" }

// A real HTTP server, whose handler is set by each test.
const requests: { method: string | undefined; headers: IncomingMessage["headers"]; body: URLSearchParams }[] = []
let handle: Handler
let open = 0
const server = createServer(async (request, response) => {
  const { method, headers } = request
  requests.push({ method, headers, body: new URLSearchParams((await buffer(request)).toString()) })
  handle(response, request)
})
server.on("connection", (socket) => {
  open++
  socket.on("close", () => open--)
})
let provider: Provider
beforeAll(async () => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  provider = {
    tokenEndpoint: `http://127.0.0.1:${port}/token`,
    issuer: undefined,
    clientId: "an app",
    authMethod: "client_secret_basic",
    clientSecret: async () => "secret +:%",
    timeoutMs: 20_000,
  }
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  requests.length = 0
})

const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Handler =>
  (response) =>
    response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(typeof body === "string" ? body : JSON.stringify(body))
const ask = (handler: Handler, more: Partial<Provider> = {}) => {
  handle = handler
  return refreshAtEndpoint({ ...provider, ...more }, "r1 é+&", now)
}
const unavailable = (failure: string, retryAfterMs?: number) => ({ kind: "unavailable", failure, retryAfterMs })

describe("the request", () => {
  test("is that of RFC 6749, section 6, once, with the secret in the header", async () => {
    await ask(json(good))
    expect(requests).toHaveLength(1)
    const [{ method, headers, body }] = requests as [(typeof requests)[0]]
    expect(method).toBe("POST")
    expect(headers["content-type"]).toMatch(/^application\/x-www-form-urlencoded/)
    expect(headers.accept).toBe("application/json")
    // Section 2.3.1: both parts are form-encoded before they are joined.
    expect(headers.authorization).toBe(`Basic ${btoa("an+app:secret+%2B%3A%25")}`)
    expect(Object.fromEntries(body)).toEqual({ grant_type: "refresh_token", refresh_token: "r1 é+&" })
  })

  test("client_secret_post: the secret is in the body", async () => {
    await ask(json(good), { authMethod: "client_secret_post" })
    expect(requests[0]?.headers.authorization).toBeUndefined()
    expect(Object.fromEntries(requests[0]?.body ?? [])).toMatchObject({
      client_id: "an app",
      client_secret: "secret +:%",
    })
  })

  test("none: there is no secret", async () => {
    await ask(json(good), { authMethod: "none", clientSecret: undefined })
    expect(requests[0]?.headers.authorization).toBeUndefined()
    expect(Object.fromEntries(requests[0]?.body ?? [])).toEqual({
      client_id: "an app",
      grant_type: "refresh_token",
      refresh_token: "r1 é+&",
    })
  })
})

describe("tokens", () => {
  const tokensOf = async (body: object, more: Partial<Provider> = {}) => {
    const outcome = await ask(json(body), more)
    return outcome.kind === "tokens" ? outcome.tokens : outcome
  }

  test("all that an answer says", async () => {
    const body = { ...good, refresh_token: "r2", scope: "a b", expires_in: 300, session_state: "x" }
    expect(await tokensOf(body)).toEqual({
      access_token: "a2",
      token_type: "bearer",
      refresh_token: "r2",
      scope: "a b",
      expires_in: 300,
      expires_at: seconds + 300,
    })
    expect(await tokensOf({ ...good, expires_in: "300" })).toMatchObject({ expires_in: 300 })
  })

  test("without expires_in, or with one that is of no use, nobody knows when the token expires", async () => {
    expect(await tokensOf(good)).toEqual({ access_token: "a2", token_type: "bearer" })
    expect(await tokensOf({ ...good, expires_in: 1e300 })).toEqual({ access_token: "a2", token_type: "bearer" })
  })

  test.each([
    ["a refresh token that is null", { refresh_token: null }, {}],
    ["an empty refresh token", { refresh_token: "" }, {}],
    ["scopes as a list", { scope: ["a", "b"] }, { scope: "a b" }],
    ["no scopes", { scope: null }, {}],
    ["scopes that are no texts", { scope: [1] }, {}],
    ["a lifetime that is null", { expires_in: null }, {}],
    ["a lifetime below zero", { expires_in: -1 }, {}],
    ["a lifetime that is no number", { expires_in: "soon" }, {}],
    ["no token type", { token_type: undefined }, {}],
    ["a token type that is null", { token_type: null }, {}],
    ["an empty token type", { token_type: "" }, {}],
  ])("%s: the tokens are good, and what replaces the refresh token is not lost", async (_, odd, more) => {
    expect(await tokensOf({ ...good, ...odd })).toEqual({ access_token: "a2", token_type: "bearer", ...more })
    if ("refresh_token" in odd) return
    expect(await tokensOf({ ...good, refresh_token: "r2", ...odd })).toMatchObject({ refresh_token: "r2" })
  })

  test("a lifetime that is infinite: the expiry is unknown", async () => {
    for (const lifetime of ["1e999", '"1e999"', '"Infinity"']) {
      const outcome = await ask(
        json(`{"access_token":"a2","token_type":"bearer","refresh_token":"r2","expires_in":${lifetime}}`),
      )
      const tokens = { access_token: "a2", token_type: "bearer", refresh_token: "r2" }
      expect(outcome).toEqual({ kind: "tokens", tokens })
    }
  })

  test("a compressed answer is read", async () => {
    const outcome = await ask((response) =>
      response
        .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        .end(gzipSync(JSON.stringify(good))),
    )
    expect(outcome).toMatchObject({ kind: "tokens" })
  })

  test("an ID token is taken over where its issuer is known and it is one for this client, else left out", async () => {
    const jwt = (claims: object) =>
      [{ alg: "ES256" }, claims, "s"].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")
    const iat = Math.floor(Date.now() / 1000)
    const claims = { iss: "https://issuer.example", aud: "an app", sub: "x", iat, exp: iat + 60 }
    const issuer = "https://issuer.example"
    const id_token = jwt(claims)
    expect(await tokensOf({ ...good, id_token }, { issuer })).toMatchObject({ access_token: "a2", id_token })
    expect(await tokensOf({ ...good, id_token })).toEqual({ access_token: "a2", token_type: "bearer" })
    for (const wrong of [{ iss: "https://other.example" }, { aud: "other" }, { exp: iat - 3600 }]) {
      const tokens = await tokensOf({ ...good, id_token: jwt({ ...claims, ...wrong }) }, { issuer })
      expect(tokens).toEqual({ access_token: "a2", token_type: "bearer", id_token: undefined })
    }
    expect(await tokensOf({ ...good, id_token: "x.y" }, { issuer })).toMatchObject({ access_token: "a2" })
    expect(await tokensOf({ ...good, id_token: 7 }, { issuer })).toMatchObject({ access_token: "a2" })
  })
})

describe("what brings no tokens", () => {
  test.each([
    ["invalid_grant", { kind: "refused" }],
    ["bad_refresh_token", { kind: "refused" }],
    ["invalid_client", { kind: "client", oauthError: "invalid_client" }],
    ["incorrect_client_credentials", { kind: "client", oauthError: "invalid_client" }],
    ["unauthorized_client", { kind: "client", oauthError: "unauthorized_client" }],
    ["unsupported_grant_type", { kind: "client", oauthError: "unsupported_grant_type" }],
    ["invalid_scope", { kind: "client", oauthError: "invalid_scope" }],
    ["temporarily_unavailable", unavailable("status")],
    ["a word of its own with r1 in it", unavailable("status")],
    ["constructor", unavailable("status")],
  ])("the error %s", async (error, outcome) => {
    for (const [status, headers] of [
      [400, {}],
      [401, { "www-authenticate": 'Basic realm="x", error="y"' }],
      [200, {}],
    ] as const) {
      expect(await ask(json({ error, error_description: "r1" }, status, headers))).toEqual(outcome)
    }
    expect(await ask(json({ error }, 503))).toEqual(unavailable("status"))
  })

  test.each([
    ["a redirect", 302, { location: "/elsewhere" }],
    ["a redirect that keeps the method", 307, { location: "/elsewhere" }],
    ["no content", 204, {}],
    ["another success", 201, {}],
    ["not found", 404, {}],
    ["a fault", 500, {}],
  ])("%s is not followed, nor taken for an answer", async (_, status, headers) => {
    expect(await ask(json(status === 204 ? "" : good, status, headers))).toEqual(unavailable("status"))
    expect(requests).toHaveLength(1)
  })

  test("when to come again, as far as that is sensible", async () => {
    const afterOf = async (value: string) => ask(json({}, 429, { "retry-after": value }))
    expect(await afterOf("7")).toEqual(unavailable("status", 7_000))
    expect(await afterOf("999999")).toEqual(unavailable("status", 300_000))
    for (const value of ["-1", "soon", "Fri, 31 Dec 1999 23:59:59 GMT"]) {
      expect(await afterOf(value)).toEqual(unavailable("status"))
    }
  })

  test.each<[string, unknown]>([
    ["no JSON", "<html>"],
    ["JSON that ends too early", '{"access_token":"a'],
    ["nothing", ""],
    ["null", null],
    ["a list", [good]],
    ["no access token", { token_type: "bearer" }],
    ["an empty access token", { ...good, access_token: "" }],
    ["an access token that is no text", { ...good, access_token: { a: 1 } }],
    ["an access token that is no Unicode", '{"access_token":"\\ud800","token_type":"bearer"}'],
    ["an access token with U+0000", { ...good, access_token: "a\0" }],
    ["an access token that is too long to be kept", { ...good, access_token: "a".repeat(131_073) }],
    ["a token type that nobody can use", { ...good, token_type: "mac" }],
    ["a token type that is no text", { ...good, token_type: 7 }],
    ["a refresh token that is no text", { ...good, refresh_token: 1 }],
    ["a refresh token that is too long to be kept", { ...good, refresh_token: "a".repeat(131_073) }],
  ])("malformed: %s", async (_, body) => {
    expect(await ask(json(body))).toEqual(unavailable("malformed"))
  })

  test.each<[string, object]>([
    ["no access token", { token_type: "bearer" }],
    ["an access token that is too long to be kept", { ...good, access_token: "a".repeat(131_073) }],
    ["a token type that nobody can use", { ...good, token_type: "mac" }],
  ])("malformed: %s; a new refresh token is kept if it can be stored", async (_, body) => {
    expect(await ask(json({ ...body, refresh_token: "r2" }))).toEqual({
      ...unavailable("malformed"),
      refreshToken: "r2",
    })
    for (const refresh_token of ["", null, 1, "r\0", "r".repeat(131_073)]) {
      expect(await ask(json({ ...body, refresh_token }))).toEqual(unavailable("malformed"))
    }
  })

  test("too large: an answer is not read further than it may be long, be it compressed or not", async () => {
    let written = 0
    const endless: Handler = (response) => {
      response.writeHead(200, { "content-type": "application/json" })
      const more = () => {
        while (!response.destroyed && response.write(" ".repeat(65_536))) written += 65_536
      }
      response.on("drain", more)
      more()
    }
    expect(await ask(endless, { timeoutMs: 20_000 })).toEqual(unavailable("too_large"))
    const bomb = gzipSync(Buffer.alloc(50_000_000, " "))
    const compressed: Handler = (response) => response.writeHead(200, { "content-encoding": "gzip" }).end(bomb)
    expect(await ask(compressed, { timeoutMs: 20_000 })).toEqual(unavailable("too_large"))
    expect(written).toBeLessThan(50_000_000)
  })

  test("time-out: no answer, one that stops, or one that comes byte by byte; the connection is closed", async () => {
    const drip: Handler = (response) => {
      response.writeHead(200, { "content-type": "application/json" })
      const timer = setInterval(() => response.write(" "), 20)
      response.on("close", () => clearInterval(timer))
    }
    const stopping: Handler = (response) => response.writeHead(200, { "content-length": 100 }).write("{")
    for (const handler of [() => {}, drip, stopping]) {
      expect(await ask(handler, { timeoutMs: 500 })).toEqual(unavailable("timeout"))
    }
    await until(() => open === 0)
  })

  test("time-out: the file of the secret cannot be read; the provider is not asked", async () => {
    const folder = mkdtempSync(join(tmpdir(), "authwire-secret-"))
    const pipe = join(folder, "secret")
    // Opening a pipe blocks until its other side is opened too, like a network file system that does not answer.
    execFileSync("mkfifo", [pipe])
    const clientSecret = () => readFile(pipe, "utf8")
    try {
      expect(await ask(json(good), { timeoutMs: 300, clientSecret })).toEqual(unavailable("timeout"))
      expect(requests).toHaveLength(0)
    } finally {
      // Ends the read.
      await writeFile(pipe, "")
      rmSync(folder, { recursive: true })
    }
  })

  test("network: nobody is there, or the connection is cut", async () => {
    expect(await ask((response) => response.destroy())).toEqual(unavailable("network"))
    const cut: Handler = (response) => {
      response.writeHead(200, { "content-length": 100 }).write("{")
      setImmediate(() => response.destroy())
    }
    expect(await ask(cut)).toEqual(unavailable("network"))
    expect(await ask(json(good), { tokenEndpoint: "http://127.0.0.1:1/token" })).toEqual(unavailable("network"))
    // A plain HTTP server at an HTTPS URL.
    const tokenEndpoint = provider.tokenEndpoint.replace("http:", "https:")
    expect(await ask(json(good), { tokenEndpoint })).toEqual(unavailable("network"))
  })
})
