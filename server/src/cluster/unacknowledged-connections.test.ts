import type { Worker } from "node:cluster"
import { EventEmitter } from "node:events"
import { expect, test } from "@jest/globals"
import { closeUnacknowledged } from "./unacknowledged-connections.js"

/** A fake worker that sends the messages of another version of Node. No real worker can send them. */
function workerOfAnotherNode() {
  const sent: unknown[] = []
  const send = (message: unknown) => sent.push(message) > 0
  const process = Object.assign(new EventEmitter(), { send: send as (...args: unknown[]) => boolean })
  const worker = Object.assign(new EventEmitter(), { process })
  closeUnacknowledged(worker as unknown as Worker)
  let closed = 0
  const connection = { close: () => closed++ }
  return {
    sent,
    isWatched: () => process.send !== send,
    give: (message: unknown) => process.send(message, connection),
    acknowledge: (message: unknown) => process.emit("internalMessage", message),
    /** Ends the worker. Returns the number of connections that were closed because of that. */
    end() {
      worker.emit("exit")
      return closed
    },
  }
}

test("connections without an acknowledgement are closed when the worker ends", () => {
  const worker = workerOfAnotherNode()
  for (let round = 0; round < 1_000; round++) {
    worker.give({ seq: round })
    worker.acknowledge({ ack: round })
  }
  worker.give({ seq: 1_000 })
  worker.give({ seq: 1_001 })
  worker.acknowledge({ ack: 1_000 })
  expect(worker.isWatched()).toBe(true)
  expect(worker.end()).toBe(1)
})

test.each<[string, (number: number) => unknown, (number: number) => unknown]>([
  ["acknowledges nothing", (seq) => ({ seq }), () => undefined],
  ["acknowledges by another name", (seq) => ({ seq }), (reply) => ({ reply })],
  ["acknowledges by a text", (seq) => ({ seq }), (ack) => ({ ack: String(ack) })],
])("a version of Node that %s: messages pass unchanged, and no connection is kept or closed", (_, message, reply) => {
  const worker = workerOfAnotherNode()
  for (let round = 0; round < 1_000; round++) {
    worker.give(message(round))
    worker.acknowledge(reply(round))
  }
  expect(worker.sent).toHaveLength(1_000)
  expect(worker.isWatched()).toBe(false)
  expect(worker.end()).toBe(0)
})

test.each<[string, (number: number) => unknown]>([
  ["does not number its messages", () => ({})],
  ["has other messages", (number) => `${number}`],
])("a version of Node that %s: messages pass unchanged, and no connection is closed", (_, message) => {
  const worker = workerOfAnotherNode()
  for (let round = 0; round < 1_000; round++) worker.give(message(round))
  expect(worker.sent).toHaveLength(1_000)
  expect(worker.end()).toBe(0)
})
