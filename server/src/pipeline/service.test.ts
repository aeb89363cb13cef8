import { type PipelineRequest, PipelineRequestSchema, UserService } from "@authwire/proto"
import { create, type DescMethod } from "@bufbuild/protobuf"
import { expect, jest, test } from "@jest/globals"
import { pino } from "pino"
import { rejectionMs } from "../overload/pause.js"
import type { Call } from "../rpc/call.js"
import { rejecter } from "../rpc/rejection.js"
import { rejections } from "../rpc/rejection-log.js"
import type { Method } from "../rpc/router.js"
import { pipelineService } from "./service.js"

test("a stream with many rejected calls is read again only after a pause", async () => {
  const pauses: { workMs: number; end(): void }[] = []
  const service = pipelineService({
    methods: new Map([["any", { desc: UserService.method.getUser as DescMethod } as Method]]),
    draining: new AbortController().signal,
    maxInFlight: 0,
    maxMessageBytes: 1_000,
    reject: rejecter({
      rejections: rejections(pino({ enabled: false })),
      observer: { rejected: () => {} },
      audit: undefined,
    }),
    limitUnknown: () => {},
    pauseAfter: (workMs) => new Promise((end) => pauses.push({ workMs, end })),
  })
  let read = 0
  async function* requests(): AsyncGenerator<PipelineRequest> {
    for (const count of [3, 0, 2]) {
      read++
      const calls = Array.from({ length: count }, (_, id) => ({ id, method: "any" }))
      yield create(PipelineRequestSchema, { calls })
    }
  }
  const stream = service.pipeline(requests(), { signal: new AbortController().signal } as Call)
  const answers = stream[Symbol.asyncIterator]()
  const next = async () => (await answers.next()).value?.answers?.length
  expect(await next()).toBeUndefined()
  // The answers are sent without a pause.
  expect(await next()).toBe(3)
  expect(pauses.map(({ workMs }) => workMs)).toEqual([3 * rejectionMs.carried])
  expect(read).toBe(1)
  pauses[0]?.end()
  expect(await next()).toBe(2)
  expect(pauses.map(({ workMs }) => workMs)).toEqual([3, 2].map((count) => count * rejectionMs.carried))
  expect(read).toBe(3)
  pauses[1]?.end()
  expect((await answers.next()).done).toBe(true)
})

test("calls that arrive after a draining service has ended the stream are not executed", async () => {
  const begin = jest.fn<Method["begin"]>()
  const known: Partial<Method> = { desc: UserService.method.getUser, begin, rejects: () => false }
  const service = pipelineService({
    methods: new Map([["any", known as Method]]),
    draining: AbortSignal.abort(),
    maxInFlight: 10,
    maxMessageBytes: 1_000,
    reject: () => {
      throw new Error("a call is rejected")
    },
    limitUnknown: () => {},
    pauseAfter: async () => {},
  })
  const ended = Promise.withResolvers<void>()
  const read = Promise.withResolvers<void>()
  async function* requests(): AsyncGenerator<PipelineRequest> {
    try {
      await ended.promise
      yield create(PipelineRequestSchema, { calls: [{ id: 1, method: "any" }] })
    } finally {
      read.resolve()
    }
  }
  const stream = service.pipeline(requests(), { signal: new AbortController().signal } as Call)
  const received = []
  for await (const response of stream) received.push(response)
  expect(received).toMatchObject([{ settings: {} }, { draining: true }])
  ended.resolve()
  await read.promise
  expect(begin).not.toHaveBeenCalled()
})
