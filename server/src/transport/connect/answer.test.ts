import { EventEmitter } from "node:events"
import { expect, test } from "@jest/globals"
import { Connection } from "../limits/connection.js"
import { limits } from "../limits/limits.js"
import { RequestUsage } from "../limits/request-usage.js"
import { type NodeResponse, writeAnswer } from "./answer.js"

/** A response that records what is written to it. The test decides when its client receives that. */
class Response extends EventEmitter {
  destroyed = false
  hasEnded = false
  readonly written: { bytes: Uint8Array; done: (error?: Error | null) => void }[] = []
  setHeader(): void {}
  writeHead(): void {}
  addTrailers(): void {}
  write(bytes: Uint8Array, done: (error?: Error | null) => void): void {
    this.written.push({ bytes, done })
  }
  end(): void {
    this.hasEnded = true
  }
}

const settle = () => new Promise(setImmediate)

/** Writes an answer of parts of these lengths. */
function writing(lengths: readonly number[], { isUnary = false, response = new Response() } = {}) {
  const state = { requested: 0, isReturned: false, isCut: false, result: "pending" }
  async function* body() {
    try {
      for (const length of lengths) {
        state.requested++
        yield new Uint8Array(length)
      }
    } finally {
      state.isReturned = true
    }
  }
  const connection = new Connection(1, undefined)
  const cut = () => {
    state.isCut = true
  }
  const usage = new RequestUsage(connection, false, undefined, cut)
  writeAnswer({ status: 200, body: body() }, response as unknown as NodeResponse, usage, isUnary)
    .then(
      () => {
        state.result = "written"
      },
      () => {
        state.result = "failed"
      },
    )
    .finally(() => usage.end())
  return { response, state }
}

test("the next part of a stream is requested when the client has received the one before", async () => {
  const { response, state } = writing(Array(20).fill(1))
  for (let part = 1; part <= 20; part++) {
    await settle()
    expect([state.requested, response.written.length, response.listenerCount("close")]).toEqual([part, part, 1])
    response.written[part - 1]?.done()
  }
  await settle()
  expect([state.result, response.hasEnded, response.listenerCount("close")]).toEqual(["written", true, 0])
})

// Otherwise the call would never end.
test.each<[string, (response: Response) => void]>([
  ["the response is closed while the client has not received a part", (response) => response.emit("close")],
  ["a part cannot be written", (response) => response.written[0]?.done(new Error("write after end"))],
])("a stream ends when %s", async (_, fail) => {
  const { response, state } = writing([1, 1])
  await settle()
  fail(response)
  await settle()
  expect(state).toMatchObject({ requested: 1, isReturned: true, result: "failed" })
  expect(response.listenerCount("close")).toBe(0)
})

test("a stream ends when the response was closed before", async () => {
  const response = new Response()
  response.destroyed = true
  const { state } = writing([1, 1], { response })
  await settle()
  expect(state).toMatchObject({ isReturned: true, result: "failed" })
})

test("a unary answer is written at once, or is aborted if the connection holds too much", async () => {
  const fits = writing([limits.answerBytes], { isUnary: true })
  const exceeds = writing([limits.answerBytes + 1], { isUnary: true })
  await settle()
  expect([fits.response.hasEnded, fits.state.isCut]).toEqual([true, false])
  expect([exceeds.response.written, exceeds.state.isCut, exceeds.state.isReturned]).toEqual([[], true, true])
})
