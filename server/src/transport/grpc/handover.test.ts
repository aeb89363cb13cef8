import { EventEmitter } from "node:events"
import type { IncomingHttpHeaders } from "node:http2"
import { Metadata } from "@grpc/grpc-js"
import { expect, jest, test } from "@jest/globals"
import { handover, type UnaryCall } from "./handover.js"
import type { GrpcStream } from "./streams.js"

const settle = () => new Promise(setImmediate)

/** Gives a stream to grpc-js, which `take` stands for. */
function giving(state: { closed?: boolean; destroyed?: boolean } = {}, headers: IncomingHttpHeaders = {}) {
  const calls = handover()
  const stream = Object.assign(new EventEmitter(), { closed: false, destroyed: false, readableEnded: false, ...state })
  const serve = jest.fn()
  const taken = jest.fn()
  calls.give({ stream, headers, serve } as unknown as GrpcStream).then(taken)
  return {
    stream,
    headers,
    serve,
    taken,
    async take() {
      calls.take({ metadata: Metadata.fromHttp2Headers(headers) } as UnaryCall, () => {})
      await settle()
    },
  }
}

test("the handler of a stream gets its call, whatever id the client has sent", async () => {
  const { serve, taken, take } = giving({}, { "authwire-call": "7" })
  expect(serve).toHaveBeenCalledTimes(1)
  await take()
  expect(taken).toHaveBeenCalledTimes(1)
})

test.each([{ closed: true }, { destroyed: true }])("a stream that is %j is not served", async (state) => {
  const { stream, headers, serve } = giving(state)
  await settle()
  expect([serve.mock.calls.length, headers, stream.listenerCount("close")]).toEqual([0, {}, 0])
})

test("a call whose stream was closed is not answered", async () => {
  const { stream, taken, take } = giving()
  stream.emit("close")
  await take()
  expect(taken).not.toHaveBeenCalled()
})

test("grpc-js gets only a timeout that it has to reject", () => {
  expect(giving({}, { "grpc-timeout": "1S" }).headers["grpc-timeout"]).toBeUndefined()
  expect(giving({}, { "grpc-timeout": "soon" }).headers["grpc-timeout"]).toBe("soon")
})
