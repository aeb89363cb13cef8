import { SessionCacheService } from "@authwire/proto"
import { enveloped, header, pathOf, paths, prefix } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { limits } from "../../server/src/transport/limits/limits.js"
import { sharedLimits } from "../../server/src/util/shared-limits.js"

/** An unreadable message and a part of another one, which is more than the service reads of it before it answers. */
const unreadable = Buffer.concat([enveloped(Buffer.of(0xff)), prefix(2 ** 20), Buffer.alloc(200_000)])

let target: Target
beforeAll(async () => {
  target = await startTarget()
})
afterAll(() => target.close())

describe.each(listeners)("a stream that is answered while its client sends, at the %s listener", (listener) => {
  test.each([pathOf(SessionCacheService.method.follow), paths.pipeline])(
    "%s: it ends, so that its key can have further streams",
    async (path) => {
      const connection = attackConnection(target.url(listener))
      // Each lingers for a moment, and half of those that may linger do so at the same time.
      const atOnce = limits.lingeringStreams / 2
      for (let count = 0; count <= sharedLimits.pipelines.key; count += atOnce) {
        const ends = Array.from({ length: atOnce }, () => {
          const stream = connection.open(header(path, { key: target.keys.all }))
          stream.stream.write(unreadable)
          return endOf(stream)
        })
        expect(new Set(await Promise.all(ends))).toEqual(new Set(["3 NO_ERROR"]))
      }
      connection.close()
    },
  )
})
