import { PipelineRequestSchema, PipelineService } from "@authwire/proto"
import { enveloped, header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection } from "@authwire/test-support/attack/streams.js"
import { until } from "@authwire/test-support/until.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { createRouter, register } from "../../server/src/rpc/router.js"
import { listensAfterEach } from "./listens.js"

// The smallest messages have five bytes, so that thousands of them can arrive at once, over any number of streams.

const openListeners = listensAfterEach()

/** A service whose streams count their messages, in turns that the test gives. */
async function serve() {
  const waiting: (() => void)[] = []
  let read = 0
  const router = createRouter({
    services: [
      register(PipelineService, {
        // biome-ignore lint/correctness/useYield: it has no answers
        async *pipeline(requests) {
          for await (const _ of requests) read++
        },
      }),
    ],
    observer: { clock: () => 0, recorderOf: () => () => {}, rejected() {} },
    access: {},
    interceptors: [],
    maxDeadlineMs: 30_000,
    limitOf: () => undefined,
    pauseAfter: async () => {},
    turn: () => new Promise((resolve) => waiting.push(resolve)),
  })
  return { ...(await openListeners(router)), waiting, read: () => read }
}

test.each(["grpcUrl", "baseUrl"] as const)(
  "S-22: each message of a stream waits for a turn of the event loop before it is read (%s)",
  async (listener) => {
    const { waiting, read, ...urls } = await serve()
    const connection = attackConnection(urls[listener])
    const message = enveloped(toBinary(PipelineRequestSchema, create(PipelineRequestSchema)))
    const messages = Buffer.concat(Array.from({ length: 3 }, () => message))
    const streams = [0, 1].map(() => connection.open(header(paths.pipeline), messages))
    for (let turns = 0; turns < 6; turns++) {
      await until(() => waiting.length === (turns < 5 ? 2 : 1))
      expect(read()).toBe(turns)
      waiting.shift()?.()
      await until(() => read() === turns + 1)
    }
    await Promise.all(streams.map(({ closed }) => closed))
    connection.close()
  },
)
