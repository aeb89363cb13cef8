import { type AuthwireClient, createAuthwireClient, EventKind, type EventsClient } from "@authwire/client"
import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import { tcpProxy } from "@authwire/test-support/connections/tcp-proxy.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { beforeAll, describe, expect, jest, test } from "@jest/globals"

// `events.watch` of the client, through a network that is cut and a service that restarts.
describe("events.watch", () => {
  const all = staticKey(["all"])
  const noEvents = staticKey(["users:read"])
  const authwire = useAuthwire("sqlite", { keys: [all, noEvents], args: ["--log-level=silent"] })
  // What is tried again is logged.
  beforeAll(() => void jest.spyOn(console, "warn").mockImplementation(() => {}))
  const create = async (id: string) => void (await authwire.client.users.createUser({ id }))

  /** A watch in progress, and what it has yielded. */
  function watching(events: EventsClient, request: Parameters<EventsClient["watch"]>[0] = {}) {
    const abort = new AbortController()
    const cursors: string[] = []
    const ids: (string | undefined)[] = []
    const ended = (async () => {
      try {
        for await (const { cursor, event } of events.watch(request, { signal: abort.signal })) {
          cursors.push(cursor)
          if (event !== undefined) ids.push(event.userId)
        }
        return "ended"
      } catch (error) {
        return error
      }
    })()
    return {
      cursors,
      ids,
      ended,
      begun: () => until(() => cursors.length > 0),
      stop: () => {
        abort.abort()
        return ended
      },
    }
  }

  const clients: [name: string, (port: number) => AuthwireClient, port: () => number][] = [
    [
      "gRPC",
      (port) => createAuthwireClient({ url: `http://127.0.0.1:${port}`, apiKey: all.text }),
      () => Number(new URL(authwire.server.grpcUrl).port),
    ],
    [
      "fetch",
      (port) => createEdgeClient({ url: `http://127.0.0.1:${port}`, apiKey: all.text }),
      () => Number(new URL(authwire.server.httpUrl).port),
    ],
    [
      "a transport of the application",
      (port) => {
        const url = `http://127.0.0.1:${port}`
        return createAuthwireClient({ url, apiKey: all.text, transport: createGrpcTransport({ baseUrl: url }) })
      },
      () => Number(new URL(authwire.server.grpcUrl).port),
    ],
  ]

  test.each(clients)("over %s: each event once and in order, although the network is cut", async (name, open, port) => {
    const proxy = await tcpProxy(port())
    const client = open(proxy.port)
    const watch = watching(client.events, { kinds: [EventKind.USER_CREATED] })
    await watch.begun()
    const expected: string[] = []
    for (let n = 0; n < 60; n++) {
      if (n % 20 === 5) {
        await until(() => watch.ids.length > 0 && watch.ids.at(-1) === expected.at(-1))
        proxy.reset()
      }
      if (n === 30) await proxy.cut()
      if (n === 40) await proxy.restore()
      expected.push(`${name} ${n}`)
      await create(`${name} ${n}`)
    }
    await until(() => watch.ids.at(-1) === expected.at(-1))
    expect(watch.ids).toEqual(expected)
    expect(proxy.accepted).toBeGreaterThanOrEqual(4)
    expect(await watch.stop()).toBe("ended")
    client.close()
    await proxy.close()
  })

  test("a cursor that was stored continues in another client, and an early end closes the stream", async () => {
    const client = createAuthwireClient({ url: authwire.server.grpcUrl, apiKey: all.text })
    let stored = ""
    for await (const { cursor, event } of client.events.watch()) {
      if (event === undefined) {
        for (const id of ["stored 1", "stored 2", "stored 3"]) await create(id)
        continue
      }
      stored = cursor
      break
    }
    client.close()
    const next = watching(authwire.client.events, { startCursor: stored })
    await until(() => next.ids.length === 2)
    expect(next.ids).toEqual(["stored 2", "stored 3"])
    expect(await next.stop()).toBe("ended")
  })

  test("it continues at a service that has restarted, and fails when the client is closed", async () => {
    const addr = `--grpc-addr=127.0.0.1:${await freePort()}`
    const one = await authwire.another(addr)
    const client = createAuthwireClient({ url: one.grpcUrl, apiKey: all.text })
    const watch = watching(client.events)
    await watch.begun()
    await create("before the restart")
    await until(() => watch.ids.length === 1)
    await one.stop()
    await create("during the restart")
    const two = await authwire.another(addr)
    await create("after the restart")
    await until(() => watch.ids.length === 3)
    expect(watch.ids).toEqual(["before the restart", "during the restart", "after the restart"])
    client.close()
    await two.stop()
    expect(await watch.ended).toMatchObject({ name: "AuthwireError", code: "FAILED_PRECONDITION" })
  })

  test("an expired cursor is thrown, also by a watch that continues", async () => {
    const proxy = await tcpProxy(Number(new URL(authwire.server.grpcUrl).port))
    const client = createAuthwireClient({ url: `http://127.0.0.1:${proxy.port}`, apiKey: all.text })
    const watch = watching(client.events)
    await watch.begun()
    await create("known")
    await until(() => watch.ids.length === 1)
    await proxy.cut()
    const [{ history } = {}] = await authwire.database.query("SELECT history FROM event_head")
    await authwire.database.query("UPDATE event_head SET history = 'RESTORED1'")
    await proxy.restore()
    const expired = { name: "AuthwireError", code: "OUT_OF_RANGE", reason: "CURSOR_EXPIRED", method: "events.watch" }
    expect(await watch.ended).toMatchObject(expired)
    const cursor = watch.cursors.at(-1) ?? ""
    expect(await watching(client.events, { startCursor: cursor }).ended).toMatchObject(expired)
    await authwire.database.query("UPDATE event_head SET history = ?", [history])
    client.close()
    await proxy.close()
  })

  test("a long history without an event of the wanted kinds has checkpoints, at which a watch continues", async () => {
    const before = watching(authwire.client.events)
    await before.begun()
    await before.stop()
    const startCursor = before.cursors[0] ?? ""
    await authwire.database.query(`INSERT INTO events (tenant, kind, user_id, created)
      WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1199)
      SELECT 'default', 'user.updated', CAST(n AS TEXT), '2030-01-01 00:00:00.000' FROM numbers`)
    await create("after the history")
    const watch = watching(authwire.client.events, { startCursor, kinds: [EventKind.USER_CREATED] })
    await until(() => watch.ids.length === 1)
    // The first response, one for each page of 200 events but the last, and the event.
    expect(watch.cursors.length).toBeGreaterThanOrEqual(6)
    await watch.stop()
    const next = watching(authwire.client.events, { startCursor: watch.cursors[3] ?? "" })
    await until(() => next.ids.includes("after the history"))
    expect(next.ids).toEqual([...Array.from({ length: 600 }, (_, n) => `${n + 600}`), "after the history"])
    await next.stop()
  })

  test.each([
    ["a key without the scope", () => noEvents.text, {}, "PERMISSION_DENIED", "SCOPE_MISSING"],
    ["an unknown key", () => staticKey(["all"]).text, {}, "UNAUTHENTICATED", "API_KEY_INVALID"],
    ["no cursor", () => all.text, { startCursor: "wrong" }, "INVALID_ARGUMENT", "INVALID_FIELD"],
  ])("%s is thrown at once, over gRPC and over fetch", async (_, key, request, code, reason) => {
    const { grpcUrl, httpUrl } = authwire.server
    for (const client of [
      createAuthwireClient({ url: grpcUrl, apiKey: key() }),
      createEdgeClient({ url: httpUrl, apiKey: key() }),
    ]) {
      expect(await watching(client.events, request).ended).toMatchObject({ name: "AuthwireError", code, reason })
      client.close()
    }
  })

  test("a signal that has aborted before ends the watch without a call", async () => {
    const signal = AbortSignal.abort()
    for await (const _ of authwire.client.events.watch({}, { signal })) throw new Error("a response")
  })
})
