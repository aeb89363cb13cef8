import { EventService } from "@authwire/proto/slim"
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect"
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals"
import { eventsOver } from "./events.js"

// Pauses and silence, without waiting for them. test/events/client.test.ts watches a real service.
const warn = jest.spyOn(console, "warn").mockImplementation(() => {})
beforeEach(() => void jest.useFakeTimers())
afterEach(() => {
  jest.useRealTimers()
  warn.mockClear()
})

type Stream = (startCursor: string, signal: AbortSignal) => AsyncIterable<{ cursor: string }>

/** The client of a service whose streams are these, one after the other. Records the cursor of each. */
function eventsOf(...streams: Stream[]) {
  const cursors: string[] = []
  const transport = createRouterTransport(({ service }) => {
    service(EventService, {
      watch({ startCursor }, { signal }) {
        cursors.push(startCursor)
        const next = streams.length > 1 ? streams.shift() : streams[0]
        return (next as Stream)(startCursor, signal)
      },
    })
  })
  return { cursors, watch: eventsOver(transport, "the service").watch }
}

const failing = (code: Code): Stream =>
  // biome-ignore lint/correctness/useYield: the stream fails before its first response.
  async function* () {
    throw new ConnectError("failed", code)
  }

/** A stream that sends these cursors, and then nothing until it is cancelled. */
const silentAfter = (...cursors: string[]): Stream =>
  async function* (_, signal) {
    for (const cursor of cursors) yield { cursor }
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
  }

test("a stream that is silent for 30 seconds is opened again at its last cursor", async () => {
  const { cursors, watch } = eventsOf(silentAfter("a", "b"), silentAfter("c"))
  const responses = watch({ startCursor: "start" })[Symbol.asyncIterator]()
  expect((await responses.next()).value?.cursor).toBe("a")
  expect((await responses.next()).value?.cursor).toBe("b")
  // The time in which the caller works does not count.
  await jest.advanceTimersByTimeAsync(600_000)
  const third = responses.next()
  await jest.advanceTimersByTimeAsync(29_999)
  expect(cursors).toEqual(["start"])
  await jest.advanceTimersByTimeAsync(102)
  expect((await third).value?.cursor).toBe("c")
  expect(cursors).toEqual(["start", "b"])
  await responses.return?.()
})

test("pauses grow from 100 ms to 10 s, less a random half, and a response ends the growth", async () => {
  const unavailable = failing(Code.Unavailable)
  const { cursors, watch } = eventsOf(...Array.from({ length: 12 }, () => unavailable), silentAfter("a"))
  const abort = new AbortController()
  const first = watch({}, { signal: abort.signal })[Symbol.asyncIterator]().next()
  const pauses: number[] = []
  let passed = 0
  for (let seen = 1; seen <= 12; passed++) {
    if (cursors.length > seen) {
      pauses.push(passed)
      passed = 0
      seen++
    }
    await jest.advanceTimersByTimeAsync(1)
  }
  expect((await first).value?.cursor).toBe("a")
  pauses.forEach((pause, n) => {
    const longest = Math.min(10_000, 100 * 2 ** n)
    expect(pause).toBeGreaterThanOrEqual(longest / 2 - 2)
    expect(pause).toBeLessThanOrEqual(longest + 2)
  })
  expect(pauses).toHaveLength(12)
  expect(warn).toHaveBeenCalledTimes(1)
  expect(warn).toHaveBeenCalledWith(
    "[authwire][warn] the service: does not send events, so the watch tries again (UNAVAILABLE: failed)",
  )
  abort.abort()
})

test("one failure between two streams is not logged", async () => {
  const closing: Stream = async function* () {
    yield { cursor: "a" }
  }
  const { cursors, watch } = eventsOf(closing, failing(Code.Internal), silentAfter("b"))
  const responses = watch()[Symbol.asyncIterator]()
  await responses.next()
  const next = responses.next()
  await jest.advanceTimersByTimeAsync(400)
  expect((await next).value?.cursor).toBe("b")
  expect(cursors).toEqual(["", "a", "a"])
  await responses.return?.()
})

test("the signal ends a pause and a stream without an error", async () => {
  const failed = eventsOf(failing(Code.Unavailable))
  for (const { watch } of [failed, eventsOf(silentAfter())]) {
    const abort = new AbortController()
    const next = watch({}, { signal: abort.signal })[Symbol.asyncIterator]().next()
    await jest.advanceTimersByTimeAsync(10)
    abort.abort()
    expect(await next).toEqual({ done: true, value: undefined })
  }
  expect(jest.getTimerCount()).toBe(0)
})

test.each([Code.Unimplemented, Code.PermissionDenied, Code.NotFound])(
  "a proxy's status %s is thrown, because another stream would fail as well",
  async (code) => {
    const { cursors, watch } = eventsOf(failing(code))
    await expect(watch()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ method: "events.watch" })
    expect(cursors).toEqual([""])
  },
)
