import { Code } from "@connectrpc/connect"
import { describe, expect, test } from "@jest/globals"
import { FakeMember, idOf, makeCall } from "../../test/pipeline-fakes.js"
import { createPipelinePool } from "./pool.js"

/** A pool with these endpoints and a clock that only the test moves. `found` is the result of the next lookup of endpoints. */
async function setUp(targets: readonly string[] | Error, connections = 1) {
  const members: FakeMember[] = []
  const fallen: string[] = []
  const world = { now: 0, time: 0, found: targets, looks: 0 }
  const pool = createPipelinePool({
    endpoints: async () => {
      world.looks++
      if (world.found instanceof Error) throw world.found
      return world.found.map((target) => ({ target, settings: {} }))
    },
    connections,
    member: (_, events) => {
      const member = new FakeMember(events)
      members.push(member)
      return member
    },
    fallback: (call) => {
      fallen.push(idOf(call))
    },
    log: { separateCalls: { used() {}, over() {} }, knownEndpoints: { used() {}, over() {} } },
    now: () => world.now,
    wallClock: () => world.time,
  })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  /** Makes a call, and records how it ended. */
  const send = (id: string, signal?: AbortSignal) => {
    const call = makeCall(id, signal)
    const end = { code: undefined as Code | undefined }
    call.response.catch(({ code }) => {
      end.code = code
    })
    pool.send(call)
    return end
  }
  return { pool, world, members, fallen, send, turn }
}

/** The same with an open stream to each endpoint, each with one call. */
async function setUpOpen(targets: readonly string[], connections?: number) {
  const world = await setUp(targets, connections)
  world.send("first")
  await world.turn()
  const streams = world.members.map((one) => one.settle())
  await world.turn()
  for (const stream of streams) stream.calls = []
  return { ...world, streams }
}

describe("createPipelinePool", () => {
  test("calls wait until a stream is open, and are then sent in order", async () => {
    const { members, send, turn } = await setUp(["a"])
    for (const id of ["1", "2", "3"]) send(id)
    await turn()
    expect(members).toHaveLength(1)
    expect(members[0]?.settle().calls).toEqual(["1", "2", "3"])
  })

  test("a call goes to the stream with the fewest calls", async () => {
    const { send, streams, turn } = await setUpOpen(["a", "b"], 2)
    expect(streams).toHaveLength(4)
    streams[0]!.calls = ["x", "x"]
    streams[1]!.calls = ["x"]
    for (let index = 0; index < 9; index++) {
      send(`${index}`)
      await turn()
    }
    expect(streams.map(({ load }) => load)).toEqual([3, 3, 3, 3])
  })

  test("calls of one turn go to the same stream, up to sixteen and as long as it has space", async () => {
    const { send, streams, turn } = await setUpOpen(["a", "b"])
    for (let index = 0; index < 20; index++) send(`${index}`)
    expect(streams.map(({ load }) => load).sort()).toEqual([16, 4])
    await turn()
    for (const stream of streams) stream.calls = []
    streams[0]!.space = 3
    for (let index = 0; index < 8; index++) send(`${index}`)
    expect(streams.map(({ load }) => load).reduce((sum, load) => sum + load)).toBe(8)
    expect(streams[0]!.load).toBeLessThanOrEqual(3)
  })

  test("calls wait in order while there is no space; a cancelled call leaves the queue", async () => {
    const { send, streams, members } = await setUpOpen(["a"])
    const [stream] = streams
    stream!.space = 2
    const giveUp = new AbortController()
    for (const id of ["1", "2", "3"]) send(id)
    const given = send("4", giveUp.signal)
    send("5")
    expect(stream!.calls).toEqual(["1", "2"])
    giveUp.abort()
    stream!.calls = []
    members[0]!.events.space()
    expect(stream!.calls).toEqual(["3", "5"])
    await Promise.resolve()
    expect(given.code).toBe(Code.Canceled)
  })

  test("calls that a stream had not sent before it ended go to another stream", async () => {
    const { streams, members } = await setUpOpen(["a", "b"])
    members[0]!.fail(Code.Unavailable, [makeCall("1"), makeCall("2")])
    expect(streams[1]!.calls).toEqual(["1", "2"])
  })

  test("a draining stream takes calls until another one is open, which is opened without a back-off", async () => {
    const { send, members } = await setUpOpen(["a"])
    const old = members[0]!.drain()
    expect(members[0]!.hurries).toBe(1)
    send("1")
    expect(old.calls).toEqual(["1"])
    expect(old.finished).toBe(false)
    const next = members[0]!.settle()
    expect(old.finished).toBe(true)
    send("2")
    expect(next.calls).toEqual(["2"])
  })

  test("with several endpoints, the next calls avoid a draining stream", async () => {
    const { send, members, streams } = await setUpOpen(["a", "b"])
    members[0]!.mayOpen = false
    const old = members[0]!.drain()
    expect(old.finished).toBe(true)
    for (const id of ["1", "2"]) send(id)
    expect(streams[1]!.calls).toEqual(["1", "2"])
    expect(members.map(({ hurries }) => hurries)).toEqual([1, 1])
  })

  test("an idle endpoint is used again; while its stream waits for settings, others take the calls", async () => {
    const { send, members, streams, turn } = await setUpOpen(["a", "b"])
    members[0]!.stream = undefined
    members[0]!.isIdle = true
    streams[1]!.calls = ["x"]
    send("1")
    expect(streams[1]!.calls).toEqual(["x", "1"])
    expect(members[0]!.settle().calls).toEqual([])
    await turn()
    send("2")
    expect((members[0] as FakeMember).stream?.calls).toEqual(["2"])
  })

  test("when all endpoints are down, a call fails at once with the error of an endpoint", async () => {
    const { send, members, turn } = await setUpOpen(["a", "b"])
    for (const one of members) one.fail()
    const end = send("1")
    await turn()
    expect(end.code).toBe(Code.Unavailable)
  })

  test("where pipelines are rejected, calls are made as unary calls; so is a call that is too large", async () => {
    const { send, members, fallen, streams } = await setUpOpen(["a"])
    streams[0]!.maxMessageBytes = 10
    send("longer than ten bytes")
    expect(fallen).toEqual(["longer than ten bytes"])
    members[0]!.fail(Code.Unimplemented)
    send("1")
    expect(fallen).toEqual(["longer than ten bytes", "1"])
  })

  test("a name that cannot be resolved fails the call, and is resolved again after a second, not before", async () => {
    const { send, world, members, turn } = await setUp(new Error("no such name"))
    const end = send("1")
    await turn()
    expect(end.code).toBe(Code.Unavailable)
    world.found = ["a"]
    world.now = 999
    const early = send("2")
    await turn()
    expect([early.code, world.looks]).toEqual([Code.Unavailable, 1])
    world.now = 1_000
    send("3")
    await turn()
    expect(members[0]?.settle().calls).toEqual(["3"])
  })

  test("new endpoints are used and removed ones are closed, but never all of them", async () => {
    const { send, world, members, turn } = await setUpOpen(["a", "b"])
    world.found = ["b", "c"]
    world.now = 30_000
    send("1")
    await turn()
    expect(members.map(({ closed }) => closed)).toEqual([true, false, false])
    world.found = []
    world.now = 60_000
    send("2")
    await turn()
    expect(members.map(({ closed }) => closed)).toEqual([true, false, false])
  })

  test("after a failure the endpoints are looked up again, at most once a second", async () => {
    const { world, members, turn } = await setUpOpen(["a"])
    members[0]!.fail()
    await turn()
    expect(world.looks).toBe(1)
    world.now = 1_000
    for (let count = 0; count < 5; count++) members[0]!.fail()
    await turn()
    expect(world.looks).toBe(2)
  })

  test.each([1_000, 30_000, 400_000])(
    "after a suspension of %i ms the next call goes to a new connection, and the endpoints are looked up again",
    async (gapMs) => {
      const { send, world, members, streams, turn } = await setUpOpen(["a"])
      world.time = gapMs
      world.now = 1_000
      send("1")
      await turn()
      expect([members[0]!.renewals, streams[0]!.calls, world.looks]).toEqual([1, [], 2])
      expect(members[0]!.settle().calls).toEqual(["1"])
      send("2")
      expect([members[0]!.renewals, members[0]!.stream?.calls]).toEqual([1, ["1", "2"]])
    },
  )

  test("it is idle without a stream and without a waiting call", async () => {
    const { pool, members, send, turn } = await setUp(["a"])
    expect(pool.isIdle).toBe(true)
    send("1")
    expect(pool.isIdle).toBe(false)
    await turn()
    members[0]!.settle()
    expect(pool.isIdle).toBe(false)
    members[0]!.draining = members[0]!.stream
    members[0]!.stream = undefined
    expect(pool.isIdle).toBe(false)
    members[0]!.draining = undefined
    expect(pool.isIdle).toBe(true)
  })

  test("closing fails the waiting calls, and closes the members", async () => {
    const { pool, send, members, turn } = await setUp(["a"])
    const end = send("1")
    await turn()
    pool.close()
    await turn()
    expect(end.code).toBe(Code.FailedPrecondition)
    expect(members[0]?.closed).toBe(true)
  })
})
