import { Readable } from "node:stream"
import { expect, jest, test } from "@jest/globals"
import { Connection } from "./connection.js"
import { limits } from "./limits.js"
import { RequestBody } from "./request-body.js"
import { RequestUsage } from "./request-usage.js"

const chunk = Buffer.alloc(64 * 1024)

/** A request that has this many bytes, and the number of bytes that were read of it. */
function bodyOf(bytes: number, isOpen = false) {
  const state = { read: 0 }
  const source = new Readable({
    read() {
      state.read += chunk.length
      this.push(chunk)
      if (state.read >= bytes) this.push(null)
    },
  })
  const connection = new Connection(1, undefined)
  const usage = new RequestUsage(connection, isOpen, undefined, () => {})
  return { body: new RequestBody(source, usage), connection, source, state }
}

test("a request that is too large is read away, without memory", async () => {
  const { body, connection, source } = bodyOf(limits.requestBytes * 3)
  await body.next()
  await body.readAway()
  expect([source.readableEnded, connection.requests.isTight]).toEqual([true, false])
  expect(await body.next()).toBeUndefined()
})

test("S-46: no more is read away than the limit, and nothing for a method that requires no key", async () => {
  const endless = bodyOf(Number.POSITIVE_INFINITY)
  await endless.body.readAway()
  endless.source.destroy()
  expect(endless.state.read).toBeGreaterThan(limits.tooLargeBytes)
  expect(endless.state.read).toBeLessThan(limits.tooLargeBytes + 16 * chunk.length)
  const open = bodyOf(Number.POSITIVE_INFINITY, true)
  await open.body.readAway()
  expect(open.state.read).toBe(0)
})

test("a client that sends nothing more is answered without the rest", async () => {
  const source = new Readable({ read() {} })
  source.push(chunk)
  const usage = new RequestUsage(new Connection(1, undefined), false, undefined, () => {})
  jest.useFakeTimers({ doNotFake: ["nextTick"] })
  const away = new RequestBody(source, usage).readAway()
  // And a turn of the event loop, in which the socket is read first; see peerTimeout.
  await jest.advanceTimersByTimeAsync(limits.tooLargeIdleMs + 1)
  jest.useRealTimers()
  await away
  expect([source.readableEnded, source.isPaused()]).toEqual([false, true])
})

test("the end of a client that disconnects is awaited no longer", async () => {
  const { body, source } = bodyOf(Number.POSITIVE_INFINITY)
  source.pause()
  const away = body.readAway()
  source.destroy()
  await away
})
