import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { EventService, WatchResponseSchema } from "@authwire/proto"
import { create } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { createRouter, type Method, register } from "../../rpc/router.js"
import { beginStream } from "./call.js"

test("S-42: a stream that waits does not keep its first answer", async () => {
  setFlagsFromString("--expose-gc")
  const gc: () => void = runInNewContext("gc")
  const answers: WeakRef<object>[] = []
  // No generator, which would keep the answer that it has yielded last.
  const next = async () => {
    if (answers.length === 2) return new Promise<never>(() => {})
    const value = create(WatchResponseSchema, { cursor: `${answers.length}` })
    answers.push(new WeakRef(value))
    return { done: false as const, value }
  }
  const router = createRouter({
    services: [register(EventService, { watch: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) })],
    observer: { clock: () => 0, recorderOf: () => () => {}, rejected() {} },
    access: {},
    interceptors: [],
    maxDeadlineMs: 30_000,
    limitOf: () => undefined,
    pauseAfter: async () => {},
  })
  const method = router.services[0]?.methods[0] as Method
  const begun = beginStream(
    method,
    { transport: "http", timeoutMs: undefined, header: () => undefined },
    method.codec,
    async () => {},
  )
  async function* requests() {
    yield new Uint8Array()
  }
  const reader = begun.answers(requests())[Symbol.asyncIterator]()
  for (let count = 0; count < 2; count++) await reader.next()
  void reader.next()
  // A WeakRef keeps its target until the end of the turn in which it was created.
  await new Promise(setImmediate)
  gc()
  expect(answers[0]?.deref()).toBeUndefined()
})
