import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { Connection } from "./connection.js"
import { limits } from "./limits.js"
import { RequestUsage } from "./request-usage.js"

const MiB = 1024 * 1024

function setUp(lifetimeMs: number | undefined, isOpen = false, connection = new Connection(4 * MiB, undefined)) {
  const cut = jest.fn()
  return { cut, connection, usage: new RequestUsage(connection, isOpen, lifetimeMs, cut) }
}

/** Returns whether a connection's budgets are completely free. */
const isWhole = ({ requests, answers }: Connection) => {
  const takes = requests.take(limits.requestBytes) && answers.take(limits.answerBytes)
  if (takes) requests.give(limits.requestBytes)
  if (takes) answers.give(limits.answerBytes)
  return takes
}

/** The turn of the event loop in which sockets are read before a time is over, in milliseconds of the fake clock; see peerTimeout. */
const turnMs = 1

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

describe("a unary call", () => {
  test("is aborted when its lifetime has passed, unless it has ended before", () => {
    const late = setUp(35_000)
    const done = setUp(35_000)
    jest.advanceTimersByTime(34_999)
    expect(late.cut).not.toHaveBeenCalled()
    done.usage.end()
    jest.advanceTimersByTime(1 + turnMs)
    expect(late.cut).toHaveBeenCalledTimes(1)
    expect(done.cut).not.toHaveBeenCalled()
  })

  test("takes the bytes of its request from its connection until it ends; a call that would take too many is aborted", () => {
    const connection = new Connection(4 * MiB, undefined)
    const calls = Array.from({ length: 3 }, () => setUp(35_000, false, connection))
    for (const { usage } of calls) usage.received(Buffer.alloc(4 * MiB))
    expect(calls.map(({ cut }) => cut.mock.calls.length)).toEqual([0, 0, 1])
    for (const { usage } of calls) usage.end()
    expect(isWhole(connection)).toBe(true)
  })

  test("is charged an overhead for each chunk, even for a chunk of a single byte", () => {
    const { usage, cut } = setUp(35_000)
    for (let sent = 0; sent < 10_000; sent++) usage.received(Buffer.alloc(1))
    expect(cut).not.toHaveBeenCalled()
    for (let sent = 0; sent < 20_000; sent++) usage.received(Buffer.alloc(1))
    expect(cut).toHaveBeenCalled()
  })

  test("takes the bytes of a large header from its connection until it ends", () => {
    const connection = new Connection(4 * MiB, undefined)
    const count = limits.requestBytes / limits.maxAuthorizeHeaderBytes
    const calls = Array.from({ length: count + 1 }, () => setUp(35_000, false, connection))
    for (const { usage } of calls) usage.receivedHeader(limits.maxAuthorizeHeaderBytes)
    expect(calls.filter(({ cut }) => cut.mock.calls.length > 0)).toEqual([calls.at(-1)])
    for (const { usage } of calls) usage.end()
    expect(isWhole(connection)).toBe(true)
  })

  test("is not charged for bytes that are read after its end", () => {
    const { usage, connection } = setUp(35_000)
    usage.end()
    usage.received(Buffer.alloc(MiB))
    expect(isWhole(connection)).toBe(true)
  })

  test("is not charged for an answer that is made after its end", () => {
    const { usage, connection } = setUp(35_000)
    usage.end()
    expect(usage.answers(MiB)).toBe(true)
    expect(isWhole(connection)).toBe(true)
  })

  test("gets space for its answer only within the connection's budget", () => {
    const connection = new Connection(4 * MiB, undefined)
    const first = setUp(35_000, false, connection)
    const second = setUp(35_000, false, connection)
    expect(first.usage.answers(limits.answerBytes)).toBe(true)
    expect(second.usage.answers(1)).toBe(false)
    first.usage.end()
    expect(second.usage.answers(1)).toBe(true)
    second.usage.end()
    expect(isWhole(connection)).toBe(true)
  })

  test("of a method without a key may have only a small request", () => {
    const { usage, cut } = setUp(35_000, true)
    usage.received(Buffer.alloc(limits.openRequestBytes))
    expect(cut).not.toHaveBeenCalled()
    usage.received(Buffer.alloc(1))
    expect(cut).toHaveBeenCalledTimes(1)
  })

  test("of a method without a key may not arrive in very small chunks", () => {
    const { usage, cut } = setUp(35_000, true)
    const fitting = limits.openRequestBytes / limits.chunkBytes
    for (let chunk = 0; chunk < fitting; chunk++) usage.received(Buffer.alloc(1))
    expect(cut).not.toHaveBeenCalled()
    usage.received(Buffer.alloc(1))
    expect(cut).toHaveBeenCalledTimes(1)
  })
})

describe("a stream", () => {
  test("may be open for hours, and is aborted when a message takes too long to arrive", () => {
    const { usage, cut } = setUp(undefined)
    usage.awaited()
    jest.advanceTimersByTime(3_600_000)
    usage.received(Buffer.alloc(10))
    usage.awaited()
    jest.advanceTimersByTime(limits.messageMs - 1)
    usage.received(Buffer.alloc(11))
    usage.read()
    usage.awaited()
    // What was received and is not needed yet has no time limit.
    usage.received(Buffer.alloc(1))
    jest.advanceTimersByTime(3_600_000)
    expect(cut).not.toHaveBeenCalled()
    usage.awaited()
    usage.received(Buffer.alloc(1))
    usage.awaited()
    jest.advanceTimersByTime(limits.messageMs + turnMs)
    expect(cut).toHaveBeenCalledTimes(1)
  })

  test("takes the bytes of a message, and an overhead for each chunk, until its method reads it", () => {
    const { usage, connection, cut } = setUp(undefined)
    for (let message = 0; message < 30_000; message++) {
      usage.received(Buffer.alloc(5))
      expect(isWhole(connection)).toBe(false)
      usage.read()
    }
    expect([isWhole(connection), cut.mock.calls.length]).toEqual([true, 0])
    for (let sent = 0; sent < 30_000; sent++) usage.received(Buffer.alloc(1))
    expect(cut).toHaveBeenCalled()
    usage.end()
    usage.read()
    expect(isWhole(connection)).toBe(true)
  })

  test("is aborted when the client does not receive a sent message in time", () => {
    const { usage, cut } = setUp(undefined)
    usage.sent(10)
    usage.sent(10)
    jest.advanceTimersByTime(limits.messageMs - 1)
    usage.taken(10)
    jest.advanceTimersByTime(limits.messageMs - 1)
    usage.taken(10)
    jest.advanceTimersByTime(limits.messageMs)
    expect(cut).not.toHaveBeenCalled()
    usage.sent(10)
    jest.advanceTimersByTime(limits.messageMs + turnMs)
    expect(cut).toHaveBeenCalledTimes(1)
  })

  test("takes the bytes of sent messages until the client has received them, or the stream has ended", () => {
    const { usage, connection, cut } = setUp(undefined)
    usage.sent(MiB)
    usage.sent(limits.answerBytes)
    usage.taken(MiB)
    expect(connection.answers.take(1)).toBe(false)
    usage.taken(limits.answerBytes)
    expect(isWhole(connection)).toBe(true)
    usage.sent(10)
    usage.taken(10)
    usage.sent(2 * limits.answerBytes)
    expect(connection.answers.isTight).toBe(true)
    usage.end()
    usage.taken(2 * limits.answerBytes)
    usage.sent(1)
    expect([isWhole(connection), cut.mock.calls.length]).toEqual([true, 0])
    // Nothing was given back twice.
    expect(connection.answers.take(limits.answerBytes + 1)).toBe(false)
  })

  test("takes the bytes of its error even if its connection has none left, and gives them back at its end", () => {
    const { usage, connection } = setUp(undefined)
    connection.answers.count(limits.answerBytes)
    usage.rejected(MiB)
    usage.end()
    usage.rejected(MiB)
    connection.answers.give(limits.answerBytes)
    expect(isWhole(connection)).toBe(true)
    // Nothing was given back twice.
    expect(connection.answers.take(limits.answerBytes + 1)).toBe(false)
  })

  test("is not aborted after its end because of a message that is sent or received late", () => {
    const { usage, cut } = setUp(undefined)
    usage.sent(10)
    usage.sent(10)
    usage.end()
    usage.taken(10)
    usage.sent(10)
    jest.advanceTimersByTime(2 * limits.messageMs)
    expect(cut).not.toHaveBeenCalled()
  })
})
