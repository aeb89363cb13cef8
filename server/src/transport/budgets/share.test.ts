import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { Connection } from "../connection.js"
import { limits } from "../limits.js"
import { Share } from "./share.js"

const MiB = 1024 * 1024

function setUp(lifetimeMs: number | undefined, isOpen = false, connection = new Connection(4 * MiB, undefined)) {
  const cut = jest.fn()
  return { cut, connection, share: new Share({ connection, isOpen, lifetimeMs, cut }) }
}

/** Whether a connection has all of its bytes to give. */
const isWhole = ({ requests, answers }: Connection) => {
  const takes = requests.take(limits.requestBytes) && answers.take(limits.answerBytes)
  if (takes) requests.give(limits.requestBytes)
  if (takes) answers.give(limits.answerBytes)
  return takes
}

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

describe("a unary call", () => {
  test("is cut when it has been open for its time, and not when it ended before", () => {
    const late = setUp(35_000)
    const done = setUp(35_000)
    jest.advanceTimersByTime(34_999)
    expect(late.cut).not.toHaveBeenCalled()
    done.share.end()
    jest.advanceTimersByTime(1)
    expect(late.cut).toHaveBeenCalledTimes(1)
    expect(done.cut).not.toHaveBeenCalled()
  })

  test("takes the bytes of its request from its connection until it ends; one that would take too many is cut", () => {
    const connection = new Connection(4 * MiB, undefined)
    const calls = Array.from({ length: 3 }, () => setUp(35_000, false, connection))
    for (const { share } of calls) share.received(Buffer.alloc(4 * MiB))
    expect(calls.map(({ cut }) => cut.mock.calls.length)).toEqual([0, 0, 1])
    for (const { share } of calls) share.end()
    expect(isWhole(connection)).toBe(true)
  })

  test("takes something for each chunk, too: one of a single byte is not for nothing", () => {
    const { share, cut } = setUp(35_000)
    for (let sent = 0; sent < 10_000; sent++) share.received(Buffer.alloc(1))
    expect(cut).not.toHaveBeenCalled()
    for (let sent = 0; sent < 20_000; sent++) share.received(Buffer.alloc(1))
    expect(cut).toHaveBeenCalled()
  })

  test("counts nothing that is read after its end", () => {
    const { share, connection } = setUp(35_000)
    share.end()
    share.received(Buffer.alloc(MiB))
    expect(isWhole(connection)).toBe(true)
  })

  test("has space for its answer as long as others are taken", () => {
    const connection = new Connection(4 * MiB, undefined)
    const first = setUp(35_000, false, connection)
    const second = setUp(35_000, false, connection)
    expect(first.share.answers(limits.answerBytes)).toBe(true)
    expect(second.share.answers(1)).toBe(false)
    first.share.end()
    expect(second.share.answers(1)).toBe(true)
    second.share.end()
    expect(isWhole(connection)).toBe(true)
  })

  test("without a key has a small request", () => {
    const { share, cut } = setUp(35_000, true)
    share.received(Buffer.alloc(limits.openRequestBytes))
    expect(cut).not.toHaveBeenCalled()
    share.received(Buffer.alloc(1))
    expect(cut).toHaveBeenCalledTimes(1)
  })
})

describe("a stream", () => {
  const prefix = (length: number) => {
    const bytes = Buffer.alloc(5)
    bytes.writeUInt32BE(length, 1)
    return bytes
  }

  test("may be open for hours, and is cut when a message takes too long to arrive", () => {
    const { share, cut } = setUp(undefined)
    jest.advanceTimersByTime(3_600_000)
    share.received(prefix(10))
    jest.advanceTimersByTime(limits.messageMs - 1)
    // This one is whole, and the next begins.
    share.received(Buffer.alloc(11))
    jest.advanceTimersByTime(limits.messageMs - 1)
    expect(cut).not.toHaveBeenCalled()
    // A byte more is no new message.
    share.received(Buffer.alloc(1))
    jest.advanceTimersByTime(1)
    expect(cut).toHaveBeenCalledTimes(1)
  })

  test("takes only the bytes of the message that is not whole", () => {
    const { share, connection } = setUp(undefined)
    share.received(prefix(2 * MiB))
    share.received(Buffer.alloc(MiB))
    expect(connection.requests.take(limits.requestBytes - MiB)).toBe(false)
    share.received(Buffer.alloc(MiB))
    expect(isWhole(connection)).toBe(true)
    share.received(prefix(1))
    share.end()
    expect(isWhole(connection)).toBe(true)
  })

  test("takes something for each chunk of that message, and not for those of the messages before", () => {
    const { share, connection, cut } = setUp(undefined)
    for (let message = 0; message < 30_000; message++) share.received(Buffer.alloc(10))
    expect(isWhole(connection)).toBe(true)
    share.received(prefix(MiB))
    for (let sent = 0; sent < 30_000; sent++) share.received(Buffer.alloc(1))
    expect(cut).toHaveBeenCalled()
  })

  test("is cut when what was sent is not taken in time", () => {
    const { share, cut } = setUp(undefined)
    share.sent()
    share.sent()
    jest.advanceTimersByTime(limits.messageMs - 1)
    share.taken()
    jest.advanceTimersByTime(limits.messageMs - 1)
    share.taken()
    jest.advanceTimersByTime(limits.messageMs)
    expect(cut).not.toHaveBeenCalled()
    share.sent()
    jest.advanceTimersByTime(limits.messageMs)
    expect(cut).toHaveBeenCalledTimes(1)
  })
})
