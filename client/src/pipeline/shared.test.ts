import { GetUserResponseSchema, UserService } from "@authwire/proto"
import { tcpProxy } from "@authwire/test-support/connections/tcp-proxy.js"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { create } from "@bufbuild/protobuf"
import { Code, type ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { afterEach, describe, expect, test } from "@jest/globals"
import { grpcServer } from "../../test/grpc-server.js"
import { AuthwireError } from "../errors/error.js"
import { headersOf } from "../transport/options.js"
import { sharedTransport } from "./shared.js"

const idleCheckMs = 50
/** An address on which no server listens. */
const url = "http://127.0.0.1:1"

let started = new AsyncDisposableStack()
afterEach(async () => {
  await started.disposeAsync()
  started = new AsyncDisposableStack()
})

const registry = () =>
  (globalThis as { [key: symbol]: Map<string, unknown> | undefined })[Symbol.for("authwire.channels.1")]

const usersOf = (transport: Transport) => createClient(UserService, transport)
const codeOf = (call: Promise<unknown>) => call.catch((error: ConnectError) => error.code)

/** Starts a service behind a proxy that counts connections. Returns the proxy and the options of a client. */
async function serve() {
  const database = await createDatabase("sqlite")
  started.defer(() => database.drop())
  const server = await startServer({ databaseUrl: database.url })
  started.defer(async () => void (await server.stop()))
  const proxy = await tcpProxy(Number(new URL(server.grpcUrl).port))
  started.defer(() => proxy.close())
  const options = { url: `http://127.0.0.1:${proxy.port}`, header: headersOf({ url: "", apiKey: "k" }) }
  return { proxy, options }
}

describe("sharedTransport", () => {
  test("an idle connection closes, and the next call of any client opens another shared connection", async () => {
    const { proxy, options } = await serve()
    const [one, other] = [sharedTransport(options, idleCheckMs), sharedTransport({ ...options }, idleCheckMs)]
    expect(await codeOf(usersOf(one).getUser({ id: "nobody" }))).toBe(Code.NotFound)
    await until(() => proxy.open === 0)
    for (const transport of [other, one, other])
      expect(await codeOf(usersOf(transport).getUser({ id: "nobody" }))).toBe(Code.NotFound)
    expect(proxy.accepted).toBe(2)
    one.close()
    expect(await codeOf(usersOf(other).getUser({ id: "nobody" }))).toBe(Code.NotFound)
    expect(await codeOf(usersOf(one).getUser({ id: "nobody" }))).toBe(Code.FailedPrecondition)
    other.close()
  })

  test("a connection with calls does not count as idle", async () => {
    const { proxy, options } = await serve()
    const transport = sharedTransport(options, idleCheckMs)
    const end = performance.now() + 10 * idleCheckMs
    while (performance.now() < end)
      expect(await codeOf(usersOf(transport).getUser({ id: "nobody" }))).toBe(Code.NotFound)
    expect(proxy.accepted).toBe(1)
    transport.close()
  })

  test("a channel that no call has used closes too", async () => {
    const before = registry()?.size ?? 0
    const transport = sharedTransport({ url, header: new Headers() }, idleCheckMs)
    expect(registry()?.size).toBe(before + 1)
    await until(() => registry()?.size === before)
    transport.close()
  })

  test("a call that takes longer than the idle time is answered", async () => {
    let answer = () => {}
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
    const service = await grpcServer(UserService, {
      GetUser: (_, callback) => {
        answer = () => callback(null, create(GetUserResponseSchema, { user: { id: "u1" } }))
        arrive()
      },
    })
    started.defer(service.stop)
    const before = registry()?.size ?? 0
    const transport = sharedTransport({ url: service.url, header: new Headers() }, idleCheckMs)
    const call = usersOf(transport).getUser({ id: "u1" })
    await arrived
    await until(() => registry()?.size === before)
    answer()
    expect((await call).user?.id).toBe("u1")
    transport.close()
  })

  test("an invalid option is rejected even if a channel without it is open", () => {
    const options = { url, header: new Headers() }
    const transport = sharedTransport(options)
    for (const wrong of [{ connections: Number.NaN }, { tls: {} }])
      expect(() => sharedTransport({ ...options, ...wrong })).toThrow(AuthwireError)
    transport.close()
  })

  test("the keys of the registry contain no secret", () => {
    const header = headersOf({ url: "", apiKey: "hunter2" })
    const transport = sharedTransport({ url, header })
    expect(registry()?.size).toBeGreaterThan(0)
    expect([...(registry()?.keys() ?? [])].join()).not.toContain("hunter2")
    transport.close()
  })
})
