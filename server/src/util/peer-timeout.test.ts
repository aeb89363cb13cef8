import { once } from "node:events"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { Worker } from "node:worker_threads"
import { afterEach, expect, jest, test } from "@jest/globals"
import { peerSignal, peerTimeout } from "./peer-timeout.js"

afterEach(() => {
  jest.useRealTimers()
})

/** A peer in a thread of its own, which sends a byte when it is told to, and then wakes who waits for `sent`. */
const peer = `
  const { parentPort, workerData } = require("node:worker_threads")
  const { sent, port } = workerData
  const socket = require("node:net").connect(port, "127.0.0.1")
  parentPort.once("message", () => socket.end("x", () => {
    Atomics.store(sent, 0, 1)
    Atomics.notify(sent, 0)
  }))
`

test("what arrived while the process stood still is read before the time is over", async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const sent = new Int32Array(new SharedArrayBuffer(4))
  const { port } = server.address() as AddressInfo
  const worker = new Worker(peer, { eval: true, workerData: { sent, port } })
  const [socket] = (await once(server, "connection")) as [Socket]
  const order: string[] = []
  socket.on("data", () => order.push("read"))
  const ms = 20
  const expired = new Promise<void>((resolve) =>
    peerTimeout(ms, () => {
      order.push("expired")
      resolve()
    }),
  )
  worker.postMessage("send")
  Atomics.wait(sent, 0, 0)
  // Until the time is over.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * ms)
  await expired
  expect(order).toEqual(["read", "expired"])
  await worker.terminate()
  server.close()
})

test("a time that is started again begins anew, and one that is cleared is never over", () => {
  jest.useFakeTimers()
  const expired = jest.fn()
  const timeout = peerTimeout(100, expired)
  jest.advanceTimersByTime(100)
  timeout.restart()
  jest.advanceTimersByTime(100)
  expect(expired).not.toHaveBeenCalled()
  timeout.clear()
  timeout.restart()
  jest.advanceTimersByTime(1_000)
  expect(expired).not.toHaveBeenCalled()
  peerTimeout(100, expired)
  jest.advanceTimersByTime(1_000)
  expect(expired).toHaveBeenCalledTimes(1)
  expect(jest.getTimerCount()).toBe(0)
})

test("a signal aborts when the time is over", () => {
  jest.useFakeTimers()
  const signal = peerSignal(100)
  jest.advanceTimersByTime(99)
  expect(signal.aborted).toBe(false)
  jest.advanceTimersByTime(2)
  expect(signal.reason).toMatchObject({ name: "TimeoutError" })
})
