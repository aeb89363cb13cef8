import { PipelineRequestSchema, PipelineService } from "@authwire/proto"
import { enveloped, header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection } from "@authwire/test-support/attack/streams.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { createRouter, register } from "../../server/src/rpc/router.js"
import { longestTurnMs } from "../../server/src/util/turn-limit.js"
import { listensAfterEach } from "./listens.js"

// The smallest messages have five bytes, so that thousands of them can arrive at once, over any number of streams.

const openListeners = listensAfterEach()
const later = endsAfterEach()

/** A service whose streams take longer for each message than a turn may last, and that notes the turn of each. */
async function serve() {
  const turns: number[] = []
  let turn = 0
  let next = setImmediate(function count() {
    turn++
    next = setImmediate(count)
  })
  later(async () => clearImmediate(next))
  const router = createRouter({
    services: [
      register(PipelineService, {
        // biome-ignore lint/correctness/useYield: it has no answers
        async *pipeline(requests) {
          for await (const _ of requests) {
            turns.push(turn)
            const until = performance.now() + longestTurnMs
            while (performance.now() < until);
          }
        },
      }),
    ],
    observer: { clock: () => 0, recorderOf: () => () => {}, rejected() {} },
    access: {},
    interceptors: [],
    maxDeadlineMs: 30_000,
    limitOf: () => undefined,
    pauseAfter: async () => {},
  })
  return { ...(await openListeners(router)), turns }
}

test.each(["grpcUrl", "baseUrl"] as const)(
  "S-22: messages of streams are read in turns of the event loop (%s)",
  async (listener) => {
    const { turns, ...urls } = await serve()
    const connection = attackConnection(urls[listener])
    const message = enveloped(toBinary(PipelineRequestSchema, create(PipelineRequestSchema)))
    const messages = Buffer.concat(Array.from({ length: 5 }, () => message))
    const streams = [0, 1].map(() => connection.open(header(paths.pipeline), messages))
    await Promise.all(streams.map(({ closed }) => closed))
    expect(turns).toHaveLength(10)
    // Two at most that wait begin in the turn in which one begins at once.
    expect(new Set(turns).size).toBeGreaterThanOrEqual(5)
    connection.close()
  },
)
