import { Code, type ConnectError } from "@connectrpc/connect"
import { connectivityState, status } from "@grpc/grpc-js"
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { setUpMember } from "../../test/member-fakes.js"

const codeOf = (error: ConnectError | undefined) => error && Code[error.code]

const turn = () => new Promise((resolve) => setImmediate(resolve))

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
    const { member, channels, wire, pause, seen } = setUpMember({ random, state: connectivityState.TRANSIENT_FAILURE })
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
    const { member, wire, pause, openStream } = setUpMember({ state: connectivityState.TRANSIENT_FAILURE })
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
    const { member, wire, wires, pause } = setUpMember({ state: connectivityState.TRANSIENT_FAILURE })
    member.open()
    wire().finish(status.UNAVAILABLE)
    pause()
    wire().finish(status.UNAVAILABLE)
    member.openNow()
    expect(wires()).toHaveLength(3)
    wire().finish(status.UNAVAILABLE)
    expect(pause()).toBe(100)
  })

  test("that carried pipelines and sends no settings now is not taken for an older server", async () => {
    const { member, wire, openStream, pause } = setUpMember()
    openStream().finish(status.UNAVAILABLE)
    member.open()
    jest.advanceTimersByTime(1_999)
    expect(wire().isCancelled).toBe(false)
    jest.advanceTimersByTime(1)
    await turn()
    expect([wire().isCancelled, member.rejectsPipeline, codeOf(member.error)]).toEqual([true, false, "Unavailable"])
    expect(pause()).toBe(100)
  })
})

describe("a member whose endpoint carries no pipelines", () => {
  test("is tried again after a minute, over the same connection", () => {
    const { member, channels, wire, pause } = setUpMember()
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
    const { member, channels, channel, wire, pause } = setUpMember()
    member.open()
    channel().state = connectivityState.IDLE
    wire().finish(status.UNIMPLEMENTED)
    expect(member.rejectsPipeline).toBe(true)
    expect(pause()).toBe(60_000)
    expect(channels.map(({ isClosed }) => isClosed)).toEqual([true, false])
  })

  test("and fails like one that is down, although it is connected, is tried again soon", () => {
    const { member, wire, pause } = setUpMember()
    member.open()
    wire().finish(status.UNAVAILABLE)
    expect(member.rejectsPipeline).toBe(true)
    expect(pause()).toBe(100)
  })

  test("and sends nothing is tried again after five seconds", async () => {
    const { member, wire, pause } = setUpMember()
    member.open()
    jest.advanceTimersByTime(2_000)
    await turn()
    expect([wire().isCancelled, member.rejectsPipeline]).toEqual([true, true])
    expect(codeOf(member.error)).toBe("DeadlineExceeded")
    expect(pause()).toBe(5_000)
  })

  test("a stream whose settings have arrived when their time is over does not end", async () => {
    const { member, wire } = setUpMember()
    member.open()
    jest.advanceTimersByTime(2_000)
    wire().settle()
    await turn()
    expect([wire().isCancelled, member.stream?.isOpen]).toEqual([false, true])
  })

  test("a stream that has settings does not end after the time for settings", () => {
    const { member, openStream } = setUpMember()
    const wire = openStream()
    jest.advanceTimersByTime(10_000)
    expect([wire.isCancelled, member.stream?.isOpen]).toEqual([false, true])
  })
})
