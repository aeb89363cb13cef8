import { EventService, UserService } from "@authwire/proto"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { expect, test } from "@jest/globals"
import { createRouter, register } from "../../server/src/rpc/router.js"
import { listensAfterEach } from "./listens.js"

// An answer that cannot be encoded is a fault of the service: its caller must not look for it in the request.

const openListeners = listensAfterEach()

/** The failures of the unary calls, for the log. */
const failures: unknown[] = []

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
    observer: { clock: () => 0, recorderOf: () => (_, failure) => failures.push(failure), rejected() {} },
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
  "over %s an answer that cannot be encoded is an internal error, and a failure of its call for the log",
  async (_, over) => {
    const { baseUrl } = await serve()
    const users = createClient(UserService, over(baseUrl))
    failures.length = 0
    expect(await failureOf(users.getUser({ id: "u" }))).toEqual(internal)
    const cause = expect.objectContaining({ message: expect.stringContaining("9999") })
    expect(failures).toEqual([expect.objectContaining({ reason: "INTERNAL", cause })])
    // A request that cannot be read still is the caller's fault.
    const wrong = await fetch(`${baseUrl}/${UserService.typeName}/GetUser`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{",
    })
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining("is not well-formed JSON")])
  },
)

test.each(transports)(
  "over %s so is one of a stream, after others and as the first, and is in the log",
  async (_, over) => {
    const { baseUrl, log } = await serve()
    const { watch } = createClient(EventService, over(baseUrl))
    for (const startCursor of ["", "1"]) {
      const cursors: string[] = []
      const headers = { "x-request-id": `after-${startCursor}.` }
      const reading = async () => {
        for await (const { cursor } of watch({ startCursor }, { headers })) cursors.push(cursor)
      }
      expect(await failureOf(reading())).toEqual(internal)
      expect(cursors).toEqual(startCursor === "" ? ["1"] : [])
      expect(log()).toMatch(
        new RegExp(`"level":50.*9999.*"request_id":"${headers["x-request-id"]}".*"msg":"an answer cannot be encoded"`),
      )
    }
  },
)
