import { gzipSync } from "node:zlib"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { logOf } from "@authwire/test-support/processes/workers.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const path = "authwire.v1.UserService/CreateUser"

// Connect decodes a request before it calls a handler. A request of an unauthenticated caller must not be decoded:
// neither to find that it is malformed, nor to spend seconds on a large one.
describe("at the HTTP transport, a request that is not authorized is not decoded", () => {
  let database: TestDatabase
  let server: ServerProcess
  const reader = staticKey(["users:read"])

  beforeAll(async () => {
    database = await createDatabase("sqlite")
    const env = { AUTHWIRE_API_KEYS: JSON.stringify([reader.entry]) }
    server = await startServer({ databaseUrl: database.url, keys: false, env, args: ["--max-message-bytes=65536"] })
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })

  const broken: [what: string, headers: Record<string, string>, body: string | Buffer][] = [
    ["no JSON", { "content-type": "application/json" }, '{"id": '],
    ["a field that is unknown", { "content-type": "application/json" }, '{"nope": 1}'],
    ["no protobuf", { "content-type": "application/proto" }, "\n\u00ff12345678"],
    ["too large", { "content-type": "application/json" }, `{"id": "${"x".repeat(100_000)}"}`],
    ["a compression that is unknown", { "content-type": "application/json", "content-encoding": "zip" }, "{}"],
    ["a bomb", { "content-type": "application/json", "content-encoding": "gzip" }, gzipSync(Buffer.alloc(10_000_000))],
    ["no envelope", { "content-type": "application/grpc-web+proto" }, "12"],
    [
      "an envelope that is cut short",
      { "content-type": "application/grpc-web+json" },
      "\u0000\u0000\u0000\u0001\u0000{",
    ],
    ["an envelope of 2 GiB", { "content-type": "application/grpc+proto" }, Buffer.from("007fffffff0a", "hex")],
  ]

  async function codeOf(headers: Record<string, string>, body: string | Buffer): Promise<unknown> {
    const response = await fetch(`${server.httpUrl}/${path}`, { method: "POST", headers, body: bytes(body) })
    const text = await response.text()
    if (headers["content-type"] === "application/json" || headers["content-type"] === "application/proto") {
      return JSON.parse(text).code
    }
    const status = response.headers.get("grpc-status") ?? /grpc-status: *(\d+)/i.exec(text)?.[1]
    return status === "16" ? "unauthenticated" : status === "7" ? "permission_denied" : `status ${status}`
  }

  // fetch does not expose trailers, in which gRPC sends its status.
  const shown = broken.filter(([, headers]) => headers["content-type"] !== "application/grpc+proto")

  test.each(shown)(
    "%s: UNAUTHENTICATED without a key, PERMISSION_DENIED without the scope",
    async (_, headers, body) => {
      expect(await codeOf(headers, body)).toBe("unauthenticated")
      expect(await codeOf({ ...headers, authorization: "Bearer awk_0123456789abcdef_x" }, body)).toBe("unauthenticated")
      expect(await codeOf({ ...headers, authorization: `Bearer ${reader.text}` }, body)).toBe("permission_denied")
      expect(await database.query("SELECT * FROM users")).toEqual([])
    },
  )

  test("over gRPC the error is in the trailers, and the log and the audit log have the caller", async () => {
    const id = crypto.randomUUID()
    const [, headers, body] = broken.at(-1) as (typeof broken)[0]
    await fetch(`${server.httpUrl}/${path}`, {
      method: "POST",
      headers: { ...headers, authorization: `Bearer ${reader.text}`, "x-request-id": id },
      body: bytes(body),
    }).then((response) => response.arrayBuffer())
    await until(() => logOf(server).filter((line) => line.request_id === id).length === 2)
    for (const line of logOf(server).filter((line) => line.request_id === id)) {
      expect(line).toMatchObject({
        code: "PERMISSION_DENIED",
        reason: "SCOPE_MISSING",
        key: reader.id,
        tenant: "default",
      })
    }
  })
})

const bytes = (body: string | Buffer) => new Uint8Array(Buffer.from(body as string))
