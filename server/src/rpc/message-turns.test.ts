import { PipelineService } from "@authwire/proto"
import { create, type Message } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { createRouter, type Method, register } from "./router.js"

test("the event loop gets turns while the messages of a stream are read, even if all of them have arrived", async () => {
  let messages = 0
  const router = createRouter({
    services: [
      register(PipelineService, {
        // biome-ignore lint/correctness/useYield: it has no answers
        async *pipeline(requests) {
          for await (const _ of requests) messages++
        },
      }),
    ],
    observer: {
      clock: () => 0,
      recorderOf: () => () => {},
      rejected() {},
    },
    access: {},
    interceptors: [],
    maxDeadlineMs: 1_000,
    limitOf: () => undefined,
    pauseAfter: async () => {},
  })
  const method = router.services[0]?.methods[0] as Method
  async function* arrived(): AsyncIterable<Message> {
    for (let count = 0; count < 1_000; count++) yield create(method.desc.input)
  }
  const ofTurns: number[] = []
  let next = setImmediate(function count() {
    ofTurns.push(messages)
    messages = 0
    next = setImmediate(count)
  })
  const call = method.begin({ transport: "test", timeoutMs: undefined, header: () => undefined })
  for await (const _ of method.stream(arrived(), call)) throw new Error("it has an answer")
  clearImmediate(next)
  call.end()
  ofTurns.push(messages)
  expect(ofTurns.reduce((sum, count) => sum + count)).toBe(1_000)
  expect(Math.max(...ofTurns)).toBeLessThanOrEqual(16)
})
