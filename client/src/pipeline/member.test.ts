import { EventEmitter } from "node:events"
import { PipelineResponseSchema } from "@authwire/proto"
import { create } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { type Client, connectivityState, Metadata, status } from "@grpc/grpc-js"
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { idOf, makeCall } from "../../test/pipeline-fakes.js"
import type { PipelinedCall } from "./call.js"
import { createMember } from "./member.js"

/** The simulated wire of one stream. */
class Wire extends EventEmitter {
  isEnded = false
  isCancelled = false
  write = () => true
  end() {
    this.isEnded = true
  }
  cancel() {
    this.isCancelled = true
  }
  settle() {
    this.#answer({ settings: { maxInFlight: 10, maxMessageBytes: 1_000 } })
  }
  askToLeave() {
    this.#answer({ draining: true })
  }
  finish(code: status, details = "") {
    this.emit("status", { code, details, metadata: new Metadata() })
  }
  #answer(response: Parameters<typeof create<typeof PipelineResponseSchema>>[1]) {
    this.emit("data", create(PipelineResponseSchema, response))
  }
}

/** A simulated channel. It is connected at first. */
class Channel {
  state = connectivityState.READY
  isClosed = false
  readonly wires: Wire[] = []
  readonly watchers: (() => void)[] = []
  getConnectivityState = () => this.state
  watchConnectivityState = (_state: connectivityState, _deadline: number, watcher: () => void) => {
    this.watchers.push(watcher)
  }
  leave(state: connectivityState) {
    this.state = state
    for (const watcher of this.watchers.splice(0)) watcher()
  }
  readonly client = {
    getChannel: () => this,
    close: () => {
      this.isClosed = true
    },
    makeBidiStreamRequest: () => {
      const wire = new Wire()
      this.wires.push(wire)
      return wire
    },
  } as unknown as Client
}

function setUp({ random = 0, state = connectivityState.READY } = {}) {
  const clock = { ms: 1_000 }
  const channels: Channel[] = []
  const seen: string[] = []
  const unsent: PipelinedCall[] = []
  const member = createMember({
    connect() {
      const channel = new Channel()
      channel.state = state
      channels.push(channel)
      return channel.client
    },
    explain: (error) => new ConnectError(`explained: ${error.rawMessage}`, error.code),
    metadata: new Metadata(),
    events: {
      changed(calls) {
        unsent.push(...calls)
        seen.push("changed")
      },
      space: () => seen.push("space"),
      draining: () => seen.push("draining"),
      failed: () => seen.push("failed"),
    },
    now: () => clock.ms,
    random: () => random,
  })
  const wires = () => channels.flatMap((channel) => channel.wires)
  const wire = () => wires().at(-1) as Wire
  const channel = () => channels.at(-1) as Channel
  /** Opens a stream that carries calls. */
  const openStream = () => {
    member.open()
    wire().settle()
    return wire()
  }
  /** Returns after how many milliseconds, in steps of one, the member tries again. */
  const pause = () => {
    const before = wires().length
    const since = clock.ms
    while (clock.ms - since < 120_000) {
      member.open()
      if (wires().length > before) return clock.ms - since
      clock.ms++
    }
    return Number.POSITIVE_INFINITY
  }
  return { member, clock, channels, channel, wires, wire, seen, unsent, openStream, pause }
}

const codeOf = (error: ConnectError | undefined) => error && Code[error.code]

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "performance", "Date"] })
})
afterEach(() => {
  jest.useRealTimers()
})

describe("a member whose endpoint is down", () => {
  test.each([
    ["at the earliest", 0, [100, 200, 400, 800, 1_600, 2_000, 2_000]],
    ["at the latest, after a half", 1, [50, 100, 200, 400, 800, 1_000, 1_000]],
  ])("doubles its pause with each failure, up to two seconds: %s", (_, random, pauses) => {
    const { member, channels, wire, pause, seen } = setUp({ random, state: connectivityState.TRANSIENT_FAILURE })
    member.open()
    for (const ms of pauses) {
      wire().finish(status.UNAVAILABLE, "refused")
      expect([member.stream, member.rejectsPipeline, codeOf(member.error)]).toEqual([undefined, false, "Unavailable"])
      expect(pause()).toBe(ms)
    }
    expect(member.error?.rawMessage).toBe("explained: refused")
    // The back-off of grpc-js does not apply, because each attempt has a new channel.
    expect(channels.map(({ isClosed }) => isClosed)).toEqual([...pauses.map(() => true), false])
    expect(seen).toEqual(pauses.flatMap(() => ["changed", "failed"]))
  })

  test("begins with the shortest pause again after a stream that carried calls", () => {
    const { member, wire, pause, openStream } = setUp({ state: connectivityState.TRANSIENT_FAILURE })
    member.open()
    for (let failure = 0; failure < 3; failure++) {
      wire().finish(status.UNAVAILABLE)
      pause()
    }
    wire().settle()
    expect(member.error).toBeUndefined()
    wire().finish(status.UNAVAILABLE)
    openStream().finish(status.UNAVAILABLE)
    member.open()
    wire().finish(status.UNAVAILABLE)
    expect(pause()).toBe(100)
  })

  test("is opened without regard to the pause where it will be needed soon, and the next pause is the shortest", () => {
    const { member, wire, wires, pause } = setUp({ state: connectivityState.TRANSIENT_FAILURE })
    member.open()
    wire().finish(status.UNAVAILABLE)
    pause()
    wire().finish(status.UNAVAILABLE)
    member.openNow()
    expect(wires()).toHaveLength(3)
    wire().finish(status.UNAVAILABLE)
    expect(pause()).toBe(100)
  })

  test("that carried pipelines and sends no settings now is not taken for an older server", () => {
    const { member, wire, openStream, pause } = setUp()
    openStream().finish(status.UNAVAILABLE)
    member.open()
    jest.advanceTimersByTime(1_999)
    expect(wire().isCancelled).toBe(false)
    jest.advanceTimersByTime(1)
    expect([wire().isCancelled, member.rejectsPipeline, codeOf(member.error)]).toEqual([true, false, "Unavailable"])
    expect(pause()).toBe(100)
  })
})

describe("a member whose endpoint carries no pipelines", () => {
  test("is tried again after a minute, over the same connection", () => {
    const { member, channels, wire, pause } = setUp()
    member.open()
    wire().finish(status.UNIMPLEMENTED)
    expect([member.rejectsPipeline, codeOf(member.error)]).toEqual([true, "Unimplemented"])
    member.openNow()
    expect(member.stream).toBeUndefined()
    expect(pause()).toBe(60_000)
    expect([channels.length, channels[0]?.isClosed]).toEqual([1, false])
    wire().settle()
    expect([member.rejectsPipeline, member.error]).toEqual([false, undefined])
  })

  test("gets a new connection if it closed the old one", () => {
    const { member, channels, channel, wire, pause } = setUp()
    member.open()
    channel().state = connectivityState.IDLE
    wire().finish(status.UNIMPLEMENTED)
    expect(member.rejectsPipeline).toBe(true)
    expect(pause()).toBe(60_000)
    expect(channels.map(({ isClosed }) => isClosed)).toEqual([true, false])
  })

  test("and fails like one that is down, although it is connected, is tried again soon", () => {
    const { member, wire, pause } = setUp()
    member.open()
    wire().finish(status.UNAVAILABLE)
    expect(member.rejectsPipeline).toBe(true)
    expect(pause()).toBe(100)
  })

  test("and sends nothing is tried again after five seconds", () => {
    const { member, wire, pause } = setUp()
    member.open()
    jest.advanceTimersByTime(2_000)
    expect([wire().isCancelled, member.rejectsPipeline]).toEqual([true, true])
    expect(codeOf(member.error)).toBe("DeadlineExceeded")
    expect(pause()).toBe(5_000)
  })

  test("a stream that has settings does not end after the time for settings", () => {
    const { member, openStream } = setUp()
    const wire = openStream()
    jest.advanceTimersByTime(10_000)
    expect([wire.isCancelled, member.stream?.isOpen]).toEqual([false, true])
  })
})

describe("a member whose stream ends", () => {
  test("has no error and no pause if the service ended it regularly", () => {
    const { member, openStream, seen, pause } = setUp()
    const wire = openStream()
    wire.finish(status.OK)
    expect([member.stream, member.error, seen]).toEqual([undefined, undefined, ["changed", "changed"]])
    expect(pause()).toBe(0)
    // Only a stream that ended because it was idle can be expected to take calls at once.
    expect(member.stream?.hasSpace).toBe(false)
  })

  test("hands the calls on that it never sent, and asks for other endpoints", () => {
    const { member, openStream, unsent, seen } = setUp()
    const wire = openStream()
    const call = makeCall("a")
    member.stream?.send(call)
    seen.length = 0
    wire.finish(status.UNAVAILABLE)
    expect([unsent.map(idOf), seen]).toEqual([["a"], ["changed", "failed"]])
  })
})

describe("a member whose service asks it to leave", () => {
  test("moves on, and uses the old stream for half a second", () => {
    const { member, openStream, seen } = setUp()
    const wire = openStream()
    const old = member.stream
    seen.length = 0
    wire.askToLeave()
    expect([member.stream, member.draining === old, seen]).toEqual([undefined, true, ["draining", "changed"]])
    jest.advanceTimersByTime(499)
    expect(wire.isEnded).toBe(false)
    jest.advanceTimersByTime(1)
    expect([wire.isEnded, member.draining]).toEqual([true, undefined])
  })

  test("leaves the old stream at once when a new one carries calls", () => {
    const { member, openStream } = setUp()
    const old = openStream()
    old.askToLeave()
    const wire = openStream()
    expect([old.isEnded, wire.isEnded, member.draining]).toEqual([true, false, undefined])
    jest.advanceTimersByTime(1_000)
    expect(wire.isEnded).toBe(false)
  })

  test("uses each old stream for half a second, whenever it left the one before", () => {
    for (const leaveBefore of [false, true]) {
      const { member, openStream } = setUp()
      openStream().askToLeave()
      jest.advanceTimersByTime(300)
      if (leaveBefore) member.reconnect()
      const wire = openStream()
      wire.askToLeave()
      jest.advanceTimersByTime(300)
      expect([wire.isEnded, member.draining !== undefined]).toEqual([false, true])
      jest.advanceTimersByTime(200)
      expect([wire.isEnded, member.draining]).toEqual([true, undefined])
    }
  })

  test("only listens to the stream that takes its calls", () => {
    const { member, openStream, seen } = setUp()
    const old = openStream()
    old.askToLeave()
    openStream()
    seen.length = 0
    old.askToLeave()
    expect([member.stream?.isOpen, seen]).toEqual([true, []])
  })

  test("moves on too when its proxy leaves the connection, and watches each connection once", () => {
    const { member, channel, openStream, seen } = setUp()
    openStream().askToLeave()
    openStream()
    expect(channel().watchers).toHaveLength(1)
    seen.length = 0
    channel().leave(connectivityState.IDLE)
    expect([member.stream, member.draining?.isOpen, seen]).toEqual([undefined, true, ["draining", "changed"]])
    openStream()
    expect(channel().watchers).toHaveLength(1)
  })
})

describe("a member without calls", () => {
  test("ends its stream after a whole period, and begins the next one with the known settings", () => {
    const { member, openStream, wire } = setUp()
    const first = openStream()
    member.endIfIdle()
    expect(first.isEnded).toBe(false)
    member.endIfIdle()
    expect([first.isEnded, member.stream, member.isIdle]).toEqual([true, undefined, true])
    member.open()
    expect([wire() === first, member.stream?.hasSpace, member.isIdle]).toEqual([false, true, false])
  })

  test("does not end a stream that has a call or no settings yet", () => {
    const { member, wire } = setUp()
    member.open()
    for (let period = 0; period < 3; period++) member.endIfIdle()
    expect([wire().isEnded, member.isIdle]).toEqual([false, false])
    wire().settle()
    member.stream?.send(makeCall("a"))
    for (let period = 0; period < 3; period++) member.endIfIdle()
    expect([wire().isEnded, member.isIdle]).toEqual([false, false])
  })
})

describe("a member whose connection may be dead", () => {
  test("cancels a stream without calls, closes the connection and opens another one without a pause", () => {
    const { member, channels, openStream, wires } = setUp()
    const [first] = [openStream()]
    member.reconnect()
    expect([first.isCancelled, channels[0]?.isClosed, member.stream]).toEqual([true, true, undefined])
    member.open()
    expect([channels.length, wires().length, member.stream?.hasSpace]).toEqual([2, 2, false])
  })

  test("lets active calls end", async () => {
    const { member, openStream } = setUp()
    const wire = openStream()
    member.stream?.send(makeCall("a"))
    await new Promise((resolve) => setImmediate(resolve))
    member.reconnect()
    expect([wire.isCancelled, wire.isEnded, member.stream]).toEqual([false, true, undefined])
  })

  test("also drops its draining stream, and is not idle any more", () => {
    const { member, openStream } = setUp()
    const old = openStream()
    old.askToLeave()
    member.reconnect()
    expect([old.isCancelled, member.draining]).toEqual([true, undefined])
    openStream()
    member.endIfIdle()
    member.endIfIdle()
    member.reconnect()
    expect(member.isIdle).toBe(false)
  })

  test("keeps a connection that is being established", () => {
    const { member, channel, channels } = setUp({ state: connectivityState.CONNECTING })
    member.open()
    member.reconnect()
    expect([member.stream !== undefined, channels.length, channel().isClosed]).toEqual([true, 1, false])
  })
})

test("a closed member ends its streams and opens no other", () => {
  const { member, channel, openStream, wires } = setUp()
  const old = openStream()
  old.askToLeave()
  const wire = openStream()
  wire.askToLeave()
  member.open()
  member.close()
  expect([wire.isEnded, member.stream, member.draining, channel().isClosed]).toEqual([true, undefined, undefined, true])
  expect(wires().map(({ isEnded }) => isEnded)).toEqual([true, true, true])
  const before = wires().length
  member.open()
  member.openNow()
  expect([wires().length, member.isIdle]).toEqual([before, false])
})
