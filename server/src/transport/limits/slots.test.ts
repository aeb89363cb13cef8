import { EventEmitter } from "node:events"
import { expect, test } from "@jest/globals"
import { Slots } from "./connection.js"

/** A stream that takes a slot. `turn` is undefined if a slot was free. */
function stream(slots: Slots) {
  const stream = new EventEmitter()
  const abort = new AbortController()
  stream.once("close", () => abort.abort(new Error("gone")))
  return { turn: slots.take(stream, abort.signal), close: () => stream.emit("close") }
}

test("streams beyond the number of slots wait and follow in order", async () => {
  const slots = new Slots(2)
  const [first, second] = [stream(slots), stream(slots)]
  expect([first.turn, second.turn]).toEqual([undefined, undefined])
  const order: string[] = []
  const [third, fourth] = [stream(slots), stream(slots)]
  const turns = [third.turn?.then(() => order.push("third")), fourth.turn?.then(() => order.push("fourth"))]
  second.close()
  await turns[0]
  expect(order).toEqual(["third"])
  first.close()
  await turns[1]
  expect(order).toEqual(["third", "fourth"])
  third.close()
  fourth.close()
  expect([stream(slots).turn, stream(slots).turn]).toEqual([undefined, undefined])
  expect(stream(slots).turn).toBeInstanceOf(Promise)
})

test("a stream that closes while waiting takes no slot, and one that closes as it gets its slot passes it on", async () => {
  const slots = new Slots(1)
  const first = stream(slots)
  const gone = stream(slots)
  const hasty = stream(slots)
  const last = stream(slots)
  gone.close()
  await expect(gone.turn).rejects.toThrow("gone")
  first.close()
  hasty.close()
  await last.turn
  last.close()
  expect(stream(slots).turn).toBeUndefined()
})

test("a stream that has already closed takes no slot", () => {
  const slots = new Slots(1)
  expect(() => slots.take(new EventEmitter(), AbortSignal.abort(new Error("gone")))).toThrow("gone")
  expect(stream(slots).turn).toBeUndefined()
})
