import { EventService, UserService } from "@authwire/proto"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { expect, test } from "@jest/globals"
import { createRouter, register } from "../../server/src/rpc/router.js"
import { listensAfterEach } from "./listens.js"

// An answer that cannot be encoded is a fault of the service: its caller must not look for it in the request.

const openListeners = listensAfterEach()

/** Methods whose answers no JSON can represent: a time after the year 9999. */
async function serve() {
  const createTime = { seconds: 10n ** 12n, nanos: 0 }
  const router = createRouter({
    services: [
      register(UserService, {
        ...Object.fromEntries(UserService.methods.map(({ localName }) => [localName, async () => ({})])),
        getUser: async () => ({ user: { id: "u", createTime } }),
      } as never),
      register(EventService, {
        async *watch({ startCursor }) {
          if (startCursor === "") yield { cursor: "1" }
          yield { cursor: "2", event: { createTime } }
        },
      }),
    ],
    observer: { clock: () => 0, recorderOf: () => () => {}, rejected() {} },
    access: {},
    interceptors: [],
    maxDeadlineMs: 30_000,
    limitOf: () => undefined,
    pauseAfter: async () => {},
  })
  return openListeners(router)
}

const transports: [name: string, (baseUrl: string) => Transport][] = [
  ["Connect", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false })],
  ["gRPC-Web", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false })],
  ["gRPC", (baseUrl) => createGrpcTransport({ baseUrl, useBinaryFormat: false })],
]

const internal = { code: Code.Internal, reason: "INTERNAL", rawMessage: "internal error" }

async function failureOf(pending: Promise<unknown>) {
  const error = ConnectError.from(await pending.catch((caught: unknown) => caught))
  return { code: error.code, reason: error.findDetails(ErrorInfoSchema)[0]?.reason, rawMessage: error.rawMessage }
}

test.each(transports)(
  "over %s an answer that cannot be encoded is an internal error, and is in the log",
  async (_, over) => {
    const { baseUrl, log } = await serve()
    const users = createClient(UserService, over(baseUrl))
    const headers = { "x-request-id": "of-this-call" }
    expect(await failureOf(users.getUser({ id: "u" }, { headers }))).toEqual(internal)
    expect(log()).toMatch(/"level":50.*9999.*"request_id":"of-this-call".*"msg":"an answer cannot be encoded"/)
    // A request that cannot be read still is the caller's fault.
    const wrong = await fetch(`${baseUrl}/${UserService.typeName}/GetUser`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{",
    })
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining("is not well-formed JSON")])
  },
)

test.each(transports)("over %s so is one of a stream, after others and as the first", async (_, over) => {
  const { baseUrl } = await serve()
  const { watch } = createClient(EventService, over(baseUrl))
  for (const startCursor of ["", "1"]) {
    const cursors: string[] = []
    const reading = async () => {
      for await (const { cursor } of watch({ startCursor })) cursors.push(cursor)
    }
    expect(await failureOf(reading())).toEqual(internal)
    expect(cursors).toEqual(startCursor === "" ? ["1"] : [])
  }
})
