import { EventEmitter } from "node:events"
import { type PipelineRequest, PipelineRequestSchema, PipelineResponseSchema } from "@authwire/proto"
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { Code, type ConnectError } from "@connectrpc/connect"
import { type Client, Metadata } from "@grpc/grpc-js"
import { describe, expect, jest, test } from "@jest/globals"
import { makeCall } from "../../test/pipeline-fakes.js"
import type { PipelinedCall } from "./call.js"
import { openPipelineStream } from "./stream.js"

/** A stream over a simulated connection that accepts messages while it has space. */
function setUp(maxInFlight = 1024) {
  const requests: PipelineRequest[] = []
  const wire = Object.assign(new EventEmitter(), {
    hasSpace: true,
    isEnded: false,
    write(request: PipelineRequest) {
      requests.push(fromBinary(PipelineRequestSchema, codec.encode(request)))
      return wire.hasSpace
    },
    end: () => {
      wire.isEnded = true
    },
    isCancelled: false,
    cancel() {
      wire.isCancelled = true
    },
  })
  const codec = { encode: (_: PipelineRequest) => Buffer.alloc(0), decode: (_: Buffer): unknown => undefined }
  const makeBidiStreamRequest = (_: string, encode: typeof codec.encode, decode: typeof codec.decode) => {
    Object.assign(codec, { encode, decode })
    return wire
  }
  const client = { makeBidiStreamRequest } as unknown as Client
  const [space, opened] = [{ events: 0 }, { events: 0 }]
  const closed: { unsent: PipelinedCall[]; error: ConnectError | undefined }[] = []
  const events = {
    opened: () => void opened.events++,
    draining() {},
    space: () => void space.events++,
    closed: (unsent: PipelinedCall[], error: ConnectError | undefined) => void closed.push({ unsent, error }),
  }
  const stream = openPipelineStream(client, new Metadata(), undefined, events)
  const answer = (response: MessageInitShape<typeof PipelineResponseSchema>) =>
    wire.emit(
      "data",
      codec.decode(Buffer.from(toBinary(PipelineResponseSchema, create(PipelineResponseSchema, response)))),
    )
  answer({ settings: { maxInFlight, maxMessageBytes: 1_000_000 } })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  /** Sends `count` calls and ignores their outcomes. */
  const send = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      const giveUp = new AbortController()
      const call = makeCall(`${index}`, giveUp.signal)
      call.response.catch(() => {})
      stream.send(call)
      return giveUp
    })
  return { stream, opened, wire, requests, space, answer, send, turn, closed }
}

describe("openPipelineStream", () => {
  test("is cancelled if the service does not end it in time after its last call", () => {
    jest.useFakeTimers({ doNotFake: ["nextTick"] })
    try {
      for (const giveUp of [true, false]) {
        const { stream, wire, answer, send } = setUp()
        const [call] = send(1)
        stream.finish()
        jest.advanceTimersByTime(60_000)
        expect([wire.isEnded, wire.isCancelled]).toEqual([true, false])
        if (giveUp) call?.abort()
        else answer({ answers: [{ id: 1, outcome: { case: "message", value: new Uint8Array() } }] })
        jest.advanceTimersByTime(4_999)
        expect(wire.isCancelled).toBe(false)
        jest.advanceTimersByTime(1)
        expect(wire.isCancelled).toBe(true)
      }
    } finally {
      jest.useRealTimers()
    }
  })

  test("calls of one turn share a message", async () => {
    const { requests, send, turn } = setUp()
    send(100)
    await turn()
    expect(requests.map(({ calls }) => calls.length)).toEqual([100])
  })

  test("a call that is cancelled before it was sent is never sent", async () => {
    const { requests, stream, send, turn } = setUp()
    for (const call of send(3)) call.abort()
    await turn()
    expect(requests).toEqual([])
    expect(stream.load).toBe(0)
  })

  test("a cancelled call makes space for waiting calls, whether it was sent or not", async () => {
    const { stream, space, send, turn } = setUp(2)
    const [sent] = send(1)
    await turn()
    const [unsent] = send(1)
    expect(stream.hasSpace).toBe(false)
    unsent!.abort()
    expect([stream.hasSpace, space.events]).toEqual([true, 1])
    sent!.abort()
    expect(space.events).toBe(2)
  })

  test("cancellations are sent before further calls", async () => {
    const { wire, requests, send, turn } = setUp(300)
    wire.hasSpace = false
    const calls = send(300)
    await turn()
    for (const call of calls) call.abort()
    send(300)
    await turn()
    expect(requests).toHaveLength(1)
    wire.hasSpace = true
    wire.emit("drain")
    await turn()
    let active = 0
    for (const { calls, cancelledIds } of requests) {
      active += calls.length - cancelledIds.length
      expect(active).toBeLessThanOrEqual(300)
    }
    expect(active).toBe(300)
  })

  test("nothing is sent while the connection has no space", async () => {
    const { wire, requests, send, turn } = setUp()
    wire.hasSpace = false
    send(1)
    await turn()
    send(2)
    await turn()
    expect(requests).toHaveLength(1)
    wire.emit("drain")
    await turn()
    expect(requests.map(({ calls }) => calls.length)).toEqual([1, 2])
  })

  test("when it is finished, it sends the waiting calls and then half-closes", async () => {
    const { wire, requests, stream, send, turn } = setUp()
    wire.hasSpace = false
    send(1)
    await turn()
    send(1)
    stream.finish()
    await turn()
    expect([stream.hasSpace, wire.isEnded]).toEqual([false, false])
    wire.emit("drain")
    await turn()
    expect([requests.length, wire.isEnded]).toEqual([2, true])
  })

  test("when it ends, the calls that were sent fail, and the others are handed back", async () => {
    const { wire, stream, turn, opened, closed, answer } = setUp()
    wire.hasSpace = false
    const calls = ["sent", "unsent"].map((id) => makeCall(id))
    const [sent, unsent] = calls as [PipelinedCall, PipelinedCall]
    stream.send(sent)
    await turn()
    stream.send(unsent)
    wire.emit("status", { code: 14, details: "gone", metadata: new Metadata() })
    await expect(sent.response).rejects.toMatchObject({ code: Code.Unavailable, rawMessage: "gone" })
    expect(closed).toMatchObject([{ unsent: [unsent], error: { code: Code.Unavailable } }])
    expect([stream.isOpen, stream.hasSpace, stream.load, unsent.owner]).toEqual([false, false, 0, undefined])
    // What is still read afterwards is of no call, and the stream ends once.
    answer({ settings: { maxInFlight: 10, maxMessageBytes: 10 }, answers: [{ id: 1 }] })
    wire.emit("status", { code: 0, details: "", metadata: new Metadata() })
    expect([closed.length, opened.events]).toEqual([1, 1])
  })
})
