import { createAuthwireClient } from "@authwire/client"
import { EventKind, EventService, type WatchResponse } from "@authwire/proto"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { describe, expect, test } from "@jest/globals"

// EventService.Watch through the listeners of a server, from its first response to the end of the stream.
describe("EventService.Watch", () => {
  const all = staticKey(["all"])
  const watcher = staticKey(["events:watch"])
  const other = staticKey(["all"], { tenant: "other" })
  const authwire = useAuthwire("sqlite", { keys: [all, watcher, other], args: ["--log-level=silent"] })

  const transports: [name: string, () => Parameters<typeof createClient>[1]][] = [
    ["gRPC", () => createGrpcTransport({ baseUrl: authwire.server.grpcUrl })],
    ["gRPC over HTTP", () => createGrpcTransport({ baseUrl: authwire.server.httpUrl })],
    ["Connect", () => createConnectTransport({ baseUrl: authwire.server.httpUrl, httpVersion: "1.1" })],
    ["gRPC-Web", () => createGrpcWebTransport({ baseUrl: authwire.server.httpUrl, httpVersion: "1.1" })],
  ]

  /** An open stream, and the responses that it has received. */
  function open(
    request: { startCursor?: string; kinds?: EventKind[] },
    key = watcher.text,
    transport = transports[0]?.[1],
  ) {
    const abort = new AbortController()
    const answers: WatchResponse[] = []
    const client = createClient(EventService, (transport as () => Parameters<typeof createClient>[1])())
    const headers = { authorization: `Bearer ${key}` }
    const ended = (async () => {
      try {
        for await (const answer of client.watch(request, { headers, signal: abort.signal })) answers.push(answer)
        return undefined
      } catch (error) {
        return ConnectError.from(error)
      }
    })()
    return {
      answers,
      ended,
      events: () => answers.flatMap(({ event }) => event ?? []),
      /** Waits for the checkpoint that is the first response. */
      begun: () => until(async () => answers.length > 0),
      async close() {
        abort.abort()
        return ended
      },
    }
  }
  /** Writes into the authwire.database. Retries while the server has locked it. */
  const write = (sql: string, parameters?: unknown[]) =>
    until(async () => {
      try {
        await authwire.database.query(sql, parameters)
        return true
      } catch (error) {
        if ((error as { code?: string }).code === "SQLITE_BUSY") return false
        throw error
      }
    })
  const create = async (id: string) => void (await authwire.client.users.createUser({ id }))
  const idsOf = (stream: ReturnType<typeof open>) => stream.events().map(({ userId }) => userId)
  const reasonOf = async (stream: ReturnType<typeof open>) => {
    const error = await stream.ended
    return [error?.code, error?.findDetails(ErrorInfoSchema)[0]?.reason]
  }

  test.each(transports)(
    "over %s: a checkpoint first, then events, with a cursor to continue from",
    async (name, transport) => {
      const stream = open({}, watcher.text, transport)
      await stream.begun()
      expect(stream.answers[0]).toMatchObject({ cursor: expect.stringMatching(/./) })
      expect(stream.answers[0]?.event).toBeUndefined()
      for (const n of [1, 2, 3]) await create(`${name} ${n}`)
      await until(async () => stream.events().length === 3)
      expect(idsOf(stream)).toEqual([1, 2, 3].map((n) => `${name} ${n}`))
      expect(stream.events().every(({ kind, createTime }) => kind === EventKind.USER_CREATED && createTime)).toBe(true)
      expect((await stream.close())?.code).toBe(Code.Canceled)
      await create(`${name} 4`)
      const [, first] = stream.answers
      const again = open({ startCursor: first?.cursor ?? "" }, watcher.text, transport)
      await until(async () => again.events().length === 3)
      expect(idsOf(again)).toEqual([2, 3, 4].map((n) => `${name} ${n}`))
      await again.close()
    },
  )

  test("only the requested kinds; the cursor advances past the others", async () => {
    const stream = open({ kinds: [EventKind.USER_DELETED] })
    await stream.begun()
    await create("kinds")
    await authwire.client.users.deleteUser({ id: "kinds" })
    await until(async () => stream.events().length === 1)
    expect(stream.events()).toMatchObject([{ kind: EventKind.USER_DELETED, userId: "kinds" }])
    await stream.close()
    const next = open({ startCursor: stream.answers.at(-1)?.cursor ?? "", kinds: [EventKind.USER_CREATED] })
    await create("kinds again")
    await until(async () => next.events().length === 1)
    expect(idsOf(next)).toEqual(["kinds again"])
    await next.close()
  })

  test("no events of another tenant, whose cursor is invalid here", async () => {
    const mine = open({})
    const theirs = open({}, other.text)
    await Promise.all([mine.begun(), theirs.begun()])
    const elsewhere = authwire.clientOf(other)
    await elsewhere.users.createUser({ id: "theirs" })
    await create("mine")
    await until(async () => mine.events().length + theirs.events().length === 2)
    expect([idsOf(mine), idsOf(theirs)]).toEqual([["mine"], ["theirs"]])
    const stolen = open({ startCursor: theirs.answers.at(-1)?.cursor ?? "" })
    expect(await reasonOf(stolen)).toEqual([Code.InvalidArgument, "INVALID_FIELD"])
    await Promise.all([mine.close(), theirs.close()])
  })

  test("a history larger than the buffer is read from the table, without a gap while more is written", async () => {
    const stream = open({})
    await stream.begun()
    const cursor = stream.answers[0]?.cursor ?? ""
    await stream.close()
    await write(`INSERT INTO events (tenant, kind, user_id, created)
      WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2499)
      SELECT 'default', 'user.updated', CAST(n AS TEXT), '2030-01-01 00:00:00.000' FROM numbers`)
    const again = open({ startCursor: cursor })
    await create("later")
    await until(async () => again.events().length === 2_501)
    expect(idsOf(again)).toEqual([...Array.from({ length: 2_500 }, (_, n) => `${n}`), "later"])
    await again.close()
  })

  test("CURSOR_EXPIRED: later events were deleted by the cleanup, or the cursor is of another database", async () => {
    const stream = open({})
    await stream.begun()
    await create("gone 1")
    await create("gone 2")
    await until(async () => stream.events().length === 2)
    await stream.close()
    const [first, , last] = stream.answers.map(({ cursor }) => cursor)
    await write("DELETE FROM events")
    expect(await reasonOf(open({ startCursor: first ?? "" }))).toEqual([Code.OutOfRange, "CURSOR_EXPIRED"])
    const goesOn = open({ startCursor: last ?? "" })
    await goesOn.begun()
    await goesOn.close()
    const [{ history } = {}] = await authwire.database.query("SELECT history FROM event_head")
    await write("UPDATE event_head SET history = 'ANOTHER'")
    expect(await reasonOf(open({ startCursor: last ?? "" }))).toEqual([Code.OutOfRange, "CURSOR_EXPIRED"])
    await write("UPDATE event_head SET history = ?, sequence = 1", [history])
    expect(await reasonOf(open({ startCursor: last ?? "" }))).toEqual([Code.OutOfRange, "CURSOR_EXPIRED"])
  })

  test("TOO_MANY_CALLS: more streams of a key than allowed; when a stream ends, a new one is accepted", async () => {
    const streams = Array.from({ length: 64 }, () => open({}))
    for (const stream of streams) await stream.begun()
    expect(await reasonOf(open({}))).toEqual([Code.ResourceExhausted, "TOO_MANY_CALLS"])
    const elsewhere = open({}, all.text)
    await elsewhere.begun()
    await streams[0]?.close()
    await until(async () => {
      const next = open({})
      await Promise.race([next.begun(), next.ended])
      const isIn = next.answers.length > 0
      await next.close()
      return isIn
    })
    for (const stream of [...streams, elsewhere]) await stream.close()
  })

  test("streams do not count as active calls, and end with UNAVAILABLE at a shutdown; another replica continues", async () => {
    const one = await authwire.another("--max-active-calls=1")
    const watching = () => createGrpcTransport({ baseUrl: one.grpcUrl })
    const streams = [open({}, watcher.text, watching), open({}, watcher.text, watching)]
    for (const stream of streams) await stream.begun()
    const client = createAuthwireClient({ url: one.grpcUrl, apiKey: all.text })
    await client.users.createUser({ id: "beside streams" })
    client.close()
    await until(async () => streams.every((stream) => stream.events().length === 1))
    expect(await one.stop()).toBe(0)
    expect(await reasonOf(streams[0] as (typeof streams)[0])).toEqual([Code.Unavailable, "SHUTTING_DOWN"])
    await create("meanwhile")
    const next = open({ startCursor: streams[0]?.answers.at(-1)?.cursor ?? "" })
    await until(async () => next.events().length === 1)
    expect(idsOf(next)).toEqual(["meanwhile"])
    await next.close()
  })

  test("EVENTS_NOT_KEPT, and no events are written, if the service keeps none", async () => {
    const one = await authwire.another("--events-keep=0")
    const client = createAuthwireClient({ url: one.grpcUrl, apiKey: all.text })
    const count = async () => (await authwire.database.query("SELECT COUNT(*) AS count FROM events"))[0]
    const before = await count()
    await client.users.createUser({ id: "without events" })
    client.close()
    expect(await count()).toEqual(before)
    const stream = open({}, watcher.text, () => createGrpcTransport({ baseUrl: one.grpcUrl }))
    expect(await reasonOf(stream)).toEqual([Code.FailedPrecondition, "EVENTS_NOT_KEPT"])
    await one.stop()
  })
})
