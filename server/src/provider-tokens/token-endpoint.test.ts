import { execFileSync } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
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
import { jwtVerify } from "jose"
import { checkPrivateKey, importPrivateKey } from "./private-key.js"
import type { Provider } from "./provider.js"
import { refreshAtEndpoint } from "./token-endpoint.js"

type Handler = (response: ServerResponse, request: IncomingMessage) => unknown

const now = Date.UTC(2030, 0, 1, 0, 0, 0, 999)
const good = { access_token: "a2", token_type: "Bearer" }

// A real HTTP server, whose handler is set by each test.
const requests: {
  method: string | undefined
  headers: IncomingMessage["headers"]
  text: string
  body: URLSearchParams
}[] = []
let handle: Handler
let open = 0
const server = createServer(async (request, response) => {
  const { method, headers } = request
  const text = (await buffer(request)).toString()
  requests.push({ method, headers, text, body: new URLSearchParams(text) })
  handle(response, request)
})
server.on("connection", (socket) => {
  open++
  socket.on("close", () => open--)
})
const secret = async () => "secret +:%-_.!~*'()"
let provider: Provider
beforeAll(async () => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  provider = {
    tokenEndpoint: `http://127.0.0.1:${port}/token`,
    issuer: undefined,
    clientId: "an app",
    clientIdName: "client_id",
    credentials: { method: "client_secret_basic", secret },
    bodyFormat: "form",
    parameters: {},
    errorCodes: new Map(),
    timeoutMs: 20_000,
    signals: undefined,
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
const unavailable = (failure: string) => ({ kind: "unavailable", failure })

describe("the request", () => {
  test("is that of RFC 6749, section 6, once, with the secret in the header", async () => {
    await ask(json(good))
    expect(requests).toHaveLength(1)
    const [{ method, headers, body }] = requests as [(typeof requests)[0]]
    expect(method).toBe("POST")
    expect(headers["content-type"]).toMatch(/^application\/x-www-form-urlencoded/)
    expect(headers.accept).toBe("application/json")
    // Section 2.3.1: both parts are form-encoded before they are joined, as Auth.js does it.
    expect(headers.authorization).toBe(`Basic ${btoa("an+app:secret+%2B%3A%25-_.!~*'()")}`)
    expect(Object.fromEntries(body)).toEqual({ grant_type: "refresh_token", refresh_token: "r1 é+&" })
  })

  test("client_secret_post: the secret is in the body", async () => {
    await ask(json(good), { credentials: { method: "client_secret_post", secret } })
    expect(requests[0]?.headers.authorization).toBeUndefined()
    expect(Object.fromEntries(requests[0]?.body ?? [])).toMatchObject({
      client_id: "an app",
      client_secret: await secret(),
    })
  })

  test("none: there is no secret", async () => {
    await ask(json(good), { credentials: { method: "none" } })
    expect(requests[0]?.headers.authorization).toBeUndefined()
    expect(Object.fromEntries(requests[0]?.body ?? [])).toEqual({
      client_id: "an app",
      grant_type: "refresh_token",
      refresh_token: "r1 é+&",
    })
  })

  test("further parameters, another name for the client's id, and a body of JSON", async () => {
    await ask(json(good), {
      credentials: { method: "client_secret_post", secret },
      clientIdName: "client_key",
      bodyFormat: "json",
      parameters: { audience: "https://api.example" },
    })
    expect(requests[0]?.headers["content-type"]).toBe("application/json")
    expect(JSON.parse(requests[0]?.text ?? "")).toEqual({
      client_key: "an app",
      client_secret: await secret(),
      audience: "https://api.example",
      grant_type: "refresh_token",
      refresh_token: "r1 é+&",
    })
  })

  test.each([
    ["RS256", "rsa", { modulusLength: 2048 }, { type: "pkcs1", format: "pem" }],
    ["ES256", "ec", { namedCurve: "P-256" }, { type: "pkcs8", format: "pem" }],
    ["EdDSA", "ed25519", undefined, { format: "jwk" }],
  ] as const)(
    "private_key_jwt with %s: a signed assertion for this endpoint",
    async (algorithm, type, options, format) => {
      const { privateKey, publicKey } = generateKeyPairSync(type as "rsa", options as { modulusLength: number })
      const exported = privateKey.export(format as { format: "jwk" }) as unknown
      const text = typeof exported === "string" ? exported : JSON.stringify(exported)
      checkPrivateKey(text, algorithm)
      const key = () => importPrivateKey(text, algorithm)
      for (const issuer of [undefined, "https://issuer.example"]) {
        requests.length = 0
        await ask(json(good), { issuer, credentials: { method: "private_key_jwt", keyId: "k1", key } })
        const [{ headers, body }] = requests as [(typeof requests)[0]]
        expect(headers.authorization).toBeUndefined()
        expect(body.get("client_assertion_type")).toBe("urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        const { payload, protectedHeader } = await jwtVerify(body.get("client_assertion") as string, publicKey, {
          audience: provider.tokenEndpoint,
          issuer: "an app",
          subject: "an app",
        })
        expect([payload.aud].flat()).toEqual([...(issuer ? [issuer] : []), provider.tokenEndpoint])
        expect(protectedHeader).toMatchObject({ kid: "k1" })
      }
    },
  )
})

describe("tokens", () => {
  const tokensOf = async (body: object, more: Partial<Provider> = {}) => {
    const outcome = await ask(json(body), more)
    return outcome.kind === "tokens" ? outcome.tokens : outcome
  }

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
    expect(await tokensOf({ ...good, id_token })).toMatchObject({ access_token: "a2", id_token: undefined })
    expect(await ask(json({ id_token }), { issuer })).toMatchObject({ kind: "refused", kept: { id_token } })
    for (const wrong of [{ iss: "https://other.example" }, { aud: "other" }, { exp: iat - 3600 }]) {
      const tokens = await tokensOf({ ...good, id_token: jwt({ ...claims, ...wrong }) }, { issuer })
      expect(tokens).toMatchObject({ access_token: "a2", id_token: undefined })
    }
    expect(await tokensOf({ ...good, id_token: "x.y" }, { issuer })).toMatchObject({ access_token: "a2" })
    expect(await tokensOf({ ...good, id_token: 7 }, { issuer })).toMatchObject({ access_token: "a2" })
  })
})

describe("what brings no tokens", () => {
  test("a redirect is not followed", async () => {
    expect(await ask(json(good, 307, { location: "/elsewhere" }))).toEqual({ ...unavailable("status"), status: 307 })
    expect(requests).toHaveLength(1)
  })

  test("an error code that quotes the refresh token is not passed on; one that is in it by chance is", async () => {
    const token = "c190b-part-of-the-token"
    for (const [error, code] of [
      [token, undefined],
      [`x.${token}.y`, undefined],
      ["part-of-the", undefined],
      ["190", "190"],
      ["invalid_grant", "invalid_grant"],
    ]) {
      handle = json({ error }, 400)
      expect(await refreshAtEndpoint(provider, token, now)).toEqual({ kind: "refused", status: 400, code })
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
    const credentials = { method: "client_secret_post", secret: () => readFile(pipe, "utf8") } as const
    try {
      expect(await ask(json(good), { timeoutMs: 300, credentials })).toEqual(unavailable("timeout"))
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
