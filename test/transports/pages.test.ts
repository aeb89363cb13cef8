import { ListUsersResponseSchema, UserService } from "@authwire/proto"
import { create, toBinary, toJsonString } from "@bufbuild/protobuf"
import { createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { describe, expect, test } from "@jest/globals"
import { createRouter, register } from "../../server/src/rpc/router.js"
import { listensAfterEach } from "./listens.js"

// Answers are encoded by their methods, and pages item by item, not by Connect.

const openListeners = listensAfterEach()

const pages = [0, 1, 5].map((count) =>
  create(ListUsersResponseSchema, {
    users: Array.from({ length: count }, (_, n) => ({
      id: `${n}`,
      image: "é".repeat(20_000),
      extra: { n, list: [null] },
    })),
    nextPageToken: `after ${count}`,
  }),
)

/** Only JSON.stringify writes this. protobuf-es, which takes many times as long for small values, makes messages of an object first. */
const shown = { toJSON: () => ({ as: "it is" }) }

/** How often the encoding of a page has waited for a turn of the event loop. */
let turns = 0

async function serve() {
  const router = createRouter({
    services: [
      register(UserService, {
        ...Object.fromEntries(UserService.methods.map(({ localName }) => [localName, async () => ({})])),
        listUsers: async ({ pageSize }: { pageSize: number }) => pages[pageSize],
        getUser: async () => ({ user: { id: "u", extra: shown } }),
        batchGetUsers: async () => ({ users: [{ id: "u", extra: shown }] }),
      } as never),
    ],
    observer: { clock: () => 0, recorderOf: () => () => {}, rejected() {} },
    access: {},
    interceptors: [],
    maxDeadlineMs: 30_000,
    limitOf: () => undefined,
    pauseAfter: async () => {},
    turn: async () => void turns++,
  })
  return openListeners(router)
}

type Over = (baseUrl: string, useBinaryFormat: boolean) => Transport
const transports: [name: string, over: Over][] = [
  ["Connect", (baseUrl, useBinaryFormat) => createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat })],
  [
    "Connect over HTTP/2",
    (baseUrl, useBinaryFormat) => createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat }),
  ],
  ["gRPC-Web", (baseUrl, useBinaryFormat) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat })],
  ["gRPC", (baseUrl, useBinaryFormat) => createGrpcTransport({ baseUrl, useBinaryFormat })],
]

describe.each(transports)("over %s", (_, over) => {
  test.each([true, false])("a page of no, one and several items arrives (protobuf: %s)", async (isBinary) => {
    const { baseUrl } = await serve()
    const { listUsers } = createClient(UserService, over(baseUrl, isBinary))
    for (const [pageSize, page] of pages.entries()) {
      turns = 0
      expect(await listUsers({ pageSize })).toEqual(page)
      expect(turns).toBeGreaterThanOrEqual(page.users.length - 1)
    }
  })
})

test.each(["json", "proto"])("a page as application/%s is one body with its length", async (format) => {
  const { baseUrl } = await serve()
  for (const [pageSize, page] of pages.entries()) {
    const answer = await fetch(`${baseUrl}/${UserService.typeName}/ListUsers`, {
      method: "POST",
      headers: { "content-type": `application/${format}` },
      body: format === "json" ? JSON.stringify({ pageSize }) : Buffer.from([0x08, pageSize]),
    })
    const body = Buffer.from(await answer.arrayBuffer())
    expect([answer.status, answer.headers.get("content-length")]).toEqual([200, String(body.length)])
    if (format === "json") expect(body.toString()).toBe(toJsonString(ListUsersResponseSchema, page))
    else expect(body.length).toBe(toBinary(ListUsersResponseSchema, page).length)
  }
})

test.each(["application/json", "application/grpc-web+json"])(
  "in answers as %s the Structs are written as the objects that they are",
  async (type) => {
    const { baseUrl } = await serve()
    const asked = [type.includes("grpc") ? [0, 0, 0, 0, 2] : [], [..."{}"].map((one) => one.charCodeAt(0))].flat()
    const bodies = ["GetUser", "BatchGetUsers"].map(async (method) => {
      const url = `${baseUrl}/${UserService.typeName}/${method}`
      const answer = await fetch(url, { method: "POST", headers: { "content-type": type }, body: Buffer.from(asked) })
      return answer.text()
    })
    const user = '{"id":"u","extra":{"as":"it is"}}'
    const [one, several] = await Promise.all(bodies)
    expect(one).toContain(`{"user":${user}}`)
    expect(several).toContain(`{"users":[${user}]}`)
  },
)
