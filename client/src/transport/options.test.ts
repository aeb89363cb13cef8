import { createRouterTransport } from "@connectrpc/connect"
import { describe, expect, test } from "@jest/globals"
import * as edge from "../edge.js"
import { AuthwireError, type AuthwireOptions, createAuthwireClient } from "../index.js"

const url = "http://127.0.0.1:50051"
const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

function failureOf(create: (options: never) => unknown, options: unknown): AuthwireError {
  try {
    create(options as never)
  } catch (error) {
    expect(error).toBeInstanceOf(AuthwireError)
    return error as AuthwireError
  }
  throw new Error("nothing was thrown")
}

const entries = [
  ["@authwire/client", createAuthwireClient],
  ["@authwire/client/edge", edge.createAuthwireClient],
] as const

// Applications are also built without their environment variables, so creating the client must not fail.
describe.each(entries)("%s reports a missing option at the first call, not before", (_, create) => {
  test.each([
    ["no url", {}, "url"],
    ["an empty url", { url: "", apiKey: "k" }, "url"],
    ["an empty apiKey", { url, apiKey: "" }, "apiKey"],
  ])("%s", async (_, options, option) => {
    const client = create(options as never)
    const error = await client.adapter.getUser("a").catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(AuthwireError)
    expect(error).toMatchObject({
      code: "INVALID_ARGUMENT",
      fieldViolations: [{ field: option, description: expect.stringContaining("missing or empty") }],
      message: expect.stringContaining(`getUser: INVALID_ARGUMENT: the option ${option} is required`),
    })
    await expect(client.jwt.decode({ token: "t", salt: "s", secret: "x" })).rejects.toMatchObject({
      message: expect.stringContaining(`the option ${option}`),
    })
    client.close()
  })
})

describe.each(entries)("%s rejects", (_, create) => {
  test.each([
    ["no options", undefined, "url is required"],
    ["a url without a scheme", { url: "127.0.0.1:50051" }, "url must begin with http://"],
    ["a host that looks like a scheme", { url: "localhost:50051" }, "url must begin with http://"],
    ["an unknown scheme", { url: "ftp://h:1" }, "url must begin with http://"],
    ["a url that is not a string", { url: 5 }, "url must begin with http://"],
    ["a broken url", { url: "http://a b:1" }, "url must be a valid URL"],
    ["a port out of range", { url: "http://h:99999" }, "url must be a valid URL"],
    ["a password in the url", { url: "http://u:hunter2@h:1" }, "url must not contain a user name or password"],
    ["a query", { url: "http://h:1/?hunter2" }, "url must not have a query"],
    ["a negative timeoutMs", { url, timeoutMs: -1 }, "timeoutMs must be a number of milliseconds from 1 to 2147483647"],
    ["a timeoutMs of zero", { url, timeoutMs: 0 }, "timeoutMs must be"],
    ["a timeoutMs that is no number", { url, timeoutMs: "5000" }, "timeoutMs must be"],
    ["a timeoutMs of NaN", { url, timeoutMs: Number.NaN }, "timeoutMs must be"],
    ["a timeoutMs without end", { url, timeoutMs: Number.POSITIVE_INFINITY }, "timeoutMs must be"],
    ["an apiKey with a line break", { url, apiKey: "hunter2\n" }, "apiKey must be visible ASCII"],
    [
      "the service's list of keys as apiKey",
      { url, apiKey: '[{"id":"hunter2"}]' },
      "apiKey must be one key (AUTHWIRE_API_KEY)",
    ],
    ["an apiKey that is no string", { url, apiKey: ["hunter2"] }, "apiKey must be visible ASCII"],
    ["headers that are none", { url, headers: "hunter2" }, "headers must be an object"],
    [
      "a header with a line break",
      { url, headers: { "x-a": "hunter2\r\n" } },
      "headers.x-a must be a string of printable",
    ],
    ["a header name with a space", { url, headers: { "x a": "" } }, "headers must have names"],
    ["a header of the protocol", { url, headers: { "Grpc-Timeout": "1S" } }, "headers.Grpc-Timeout is a header name"],
    [
      "one idempotency key for all calls",
      { url, headers: { "Idempotency-Key": "hunter2-hunter2-hunter2" } },
      "headers.Idempotency-Key must differ",
    ],
    [
      "authorization together with apiKey",
      { url, apiKey: "k", headers: { Authorization: "hunter2" } },
      "headers.authorization",
    ],
    ["a transport that is none", { url, transport: {} }, "transport must be a Transport"],
    ["sessions that are none", { url, sessions: true }, "sessions must be an object"],
    ["a signOutOn that is no list", { url, signOutOn: "emailChange" }, "signOutOn must be a list of emailChange"],
    ["an unknown event", { url, signOutOn: ["signIn"] }, "signOutOn must be a list of emailChange"],
    ...[null, false, 0, ""].map((sessionCache): [string, object, string] => [
      `a sessionCache of ${JSON.stringify(sessionCache)}`,
      { url, sessionCache },
      "sessionCache ",
    ]),
    ...[0, -1, "3600", Number.NaN, 3_153_600_001].map((maxAge): [string, object, string] => [
      `a maxAge of ${JSON.stringify(maxAge)}`,
      { url, sessions: { maxAge } },
      "sessions.maxAge must be a number of seconds from 0.001 to 3153600000",
    ]),
    ...[-1, Number.POSITIVE_INFINITY].map((updateAge): [string, object, string] => [
      `an updateAge of ${updateAge}`,
      { url, sessions: { updateAge } },
      "sessions.updateAge must be a number of seconds from 0 to 3153600000",
    ]),
  ])("%s", (_, options, rule) => {
    const error = failureOf(create, options)
    expect(error.code).toBe("INVALID_ARGUMENT")
    expect(error.message).toContain(`INVALID_ARGUMENT: the option ${rule}`)
    expect(error.fieldViolations).toHaveLength(1)
    expect(JSON.stringify(error) + error.stack).not.toContain("hunter2")
  })

  test("no valid set of options", () => {
    const transport = createRouterTransport(() => {})
    create({ url, apiKey: "k-1", timeoutMs: 1, headers: { "X-Tenant": "a b" } }).close()
    create({ url, apiKey: undefined, timeoutMs: undefined, headers: undefined, transport: undefined }).close()
    create({ url, transport }).close()
    create({ url, sessions: {} }).close()
    create({ url, sessions: { maxAge: 0.001, updateAge: 0 } }).close()
  })
})

describe("@authwire/client", () => {
  test.each<[string, AuthwireOptions, string]>([
    ["a url with a path", { url: "http://h:1/authwire" }, "url must not have a path"],
    ["dns:/// without a port", { url: "dns:///h" }, "url must be of the form dns:///host:port"],
    ["dns:// with a resolver", { url: "dns://8.8.8.8/h:1" }, "url must begin with"],
    ["tls without TLS", { url, tls: {} }, "tls needs a url"],
    [
      "a key without a certificate",
      { url: "https://h", tls: { key: pem } },
      "tls must have both cert and key, or neither",
    ],
    ["a CA that is not PEM", { url: "https://h", tls: { ca: "hunter2" } }, "tls.ca must be PEM"],
    [
      "certificates that are broken",
      { url: "https://h", tls: { cert: pem, key: pem } },
      "tls must contain valid certificates",
    ],
    ["an empty serverName", { url: "https://h", tls: { serverName: "" } }, "tls.serverName must be"],
    [
      "tls together with transport",
      { url: "https://h", tls: {}, transport: createRouterTransport(() => {}) },
      "tls must not be combined with",
    ],
    ["a part of a connection", { url, connections: 1.5 }, "connections must be a whole number from 1 to 64"],
    [
      "connections together with transport",
      { url, connections: 1, transport: createRouterTransport(() => {}) },
      "connections must not be combined with",
    ],
  ])("rejects %s", (_, options, rule) => {
    const error = failureOf(createAuthwireClient, options)
    expect(error.message).toContain(`the option ${rule}`)
    expect(JSON.stringify(error)).not.toContain("hunter2")
  })

  test.each(["http://h", "http://[::1]:50051", "HTTPS://h:443", "dns:///h:50051", "dns:///h.example.com:1"])(
    "accepts %s",
    (url) => createAuthwireClient({ url }).close(),
  )
})

describe("@authwire/client/edge", () => {
  test("accepts a path, rejects dns:/// and a fetch that is not a function", () => {
    edge.createAuthwireClient({ url: "https://h/authwire" }).close()
    expect(failureOf(edge.createAuthwireClient, { url: "dns:///h:1" }).message).toContain("url must begin with http://")
    expect(failureOf(edge.createAuthwireClient, { url, fetch: 1 }).message).toContain("fetch must be a function")
  })

  // Otherwise a client with a private CA would trust all authorities of the runtime.
  test.each([
    ["tls", { tls: { ca: pem } }],
    ["sessionCache", { sessionCache: {} }],
  ])("rejects %s, which only the gRPC client has", (name, option) => {
    for (const create of [edge.createAuthwireClient, edge.AuthwireAdapter, edge.RemoteJwt]) {
      const { message } = failureOf(create, { url: "https://h", ...option })
      expect(message).toContain(`the option ${name} needs the gRPC transport of @authwire/client in Node`)
    }
  })
})
