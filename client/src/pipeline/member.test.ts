import { Code } from "@connectrpc/connect"
import { connectivityState, status } from "@grpc/grpc-js"
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { setUpMember } from "../../test/member-fakes.js"
import { idOf, makeCall } from "../../test/pipeline-fakes.js"

type Setup = ReturnType<typeof setUpMember>

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "performance", "Date"] })
})
afterEach(() => {
  jest.useRealTimers()
})

describe("a member whose stream ends", () => {
  test("has no error and no pause if the service ended it regularly", () => {
    const { member, openStream, seen, pause } = setUpMember()
    const wire = openStream()
    wire.finish(status.OK)
    expect([member.stream, member.error, seen]).toEqual([undefined, undefined, ["changed", "changed"]])
    expect(pause()).toBe(0)
    // Only a stream that ended because it was idle can be expected to take calls at once.
    expect(member.stream?.hasSpace).toBe(false)
  })

  test("hands the calls on that it never sent, and asks for other endpoints", () => {
    const { member, openStream, unsent, seen } = setUpMember()
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
    const { member, openStream, seen } = setUpMember()
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
    const { member, openStream } = setUpMember()
    const old = openStream()
    old.askToLeave()
    const wire = openStream()
    expect([old.isEnded, wire.isEnded, member.draining]).toEqual([true, false, undefined])
    jest.advanceTimersByTime(1_000)
    expect(wire.isEnded).toBe(false)
  })

  test("uses each old stream for half a second, whenever it left the one before", () => {
    for (const leaveBefore of [false, true]) {
      const { member, openStream } = setUpMember()
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
    const { member, openStream, seen } = setUpMember()
    const old = openStream()
    old.askToLeave()
    openStream()
    seen.length = 0
    old.askToLeave()
    expect([member.stream?.isOpen, seen]).toEqual([true, []])
  })

  test("moves on too when its proxy leaves the connection, and watches each connection once", () => {
    const { member, channel, openStream, seen } = setUpMember()
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
    const { member, openStream, wire } = setUpMember()
    const first = openStream()
    member.endIfIdle()
    expect(first.isEnded).toBe(false)
    member.endIfIdle()
    expect([first.isEnded, member.stream, member.isIdle]).toEqual([true, undefined, true])
    member.open()
    expect([wire() === first, member.stream?.hasSpace, member.isIdle]).toEqual([false, true, false])
  })

  test("does not end a stream that has a call or no settings yet", () => {
    const { member, wire } = setUpMember()
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
    const { member, channels, openStream, wires } = setUpMember()
    const [first] = [openStream()]
    member.reconnect()
    expect([first.isCancelled, channels[0]?.isClosed, member.stream]).toEqual([true, true, undefined])
    member.open()
    expect([channels.length, wires().length, member.stream?.hasSpace]).toEqual([2, 2, false])
  })

  test("lets active calls end, and checks it at once and until then", async () => {
    const { member, channel, openStream } = setUpMember()
    const wire = openStream()
    const call = makeCall("a")
    member.stream?.send(call)
    await new Promise((resolve) => setImmediate(resolve))
    member.reconnect()
    expect([wire.isCancelled, wire.isEnded, member.stream]).toEqual([false, true, undefined])
    expect([channel().checks, channel().isClosed]).toEqual([1, false])
    wire.finish(status.UNAVAILABLE)
    await expect(call.response).rejects.toMatchObject({ code: Code.Unavailable })
    expect(channel().isClosed).toBe(true)
  })

  test.each([
    ["it was left", ({ member }: Setup) => member.reconnect()],
    ["the member was closed", ({ member }: Setup) => member.close()],
    [
      "the service asked to leave it, and another one failed",
      ({ member, wire, channel }: Setup) => {
        wire().askToLeave()
        member.open()
        channel().state = connectivityState.TRANSIENT_FAILURE
        wire().finish(status.UNAVAILABLE)
      },
    ],
  ])("fails active calls if it does not answer a check after %s", async (_, leave) => {
    const set = setUpMember()
    const wire = set.openStream()
    const call = makeCall("a")
    set.member.stream?.send(call)
    await new Promise((resolve) => setImmediate(resolve))
    const left = set.channel()
    leave(set)
    expect(left.isClosed).toBe(false)
    left.die()
    await expect(call.response).rejects.toMatchObject({ code: Code.Unavailable })
    expect([wire.isCancelled, left.isClosed]).toEqual([true, true])
  })

  test("also drops its draining stream, and is not idle any more", () => {
    const { member, openStream } = setUpMember()
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

  test("does not take a stream that was being opened for one that the service rejects", () => {
    const { member, wire } = setUpMember()
    member.open()
    member.reconnect()
    expect([wire().isCancelled, member.rejectsPipeline, member.error]).toEqual([true, false, undefined])
  })

  test("keeps a connection that is being established", () => {
    const { member, channel, channels } = setUpMember({ state: connectivityState.CONNECTING })
    member.open()
    member.reconnect()
    expect([member.stream !== undefined, channels.length, channel().isClosed]).toEqual([true, 1, false])
  })
})

test("a member whose connection does not answer fails its calls, and opens another one at once", async () => {
  const { member, channel, channels, openStream, seen } = setUpMember()
  const wire = openStream()
  const call = makeCall("a")
  member.stream?.send(call)
  await new Promise((resolve) => setImmediate(resolve))
  const dead = channel()
  dead.die()
  await expect(call.response).rejects.toMatchObject({ code: Code.Unavailable })
  expect([wire.isCancelled, member.stream, dead.isClosed, seen.at(-1)]).toEqual([true, undefined, true, "failed"])
  openStream()
  expect(channels).toHaveLength(2)
  dead.die()
  expect(member.stream?.isOpen).toBe(true)
})

test("a closed member ends its streams and opens no other", () => {
  const { member, channel, openStream, wires } = setUpMember()
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
