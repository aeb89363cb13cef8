import { SessionCacheService } from "@authwire/proto"
import { enveloped, header, pathOf, paths, prefix } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { listeners, startTarget, type Target } from "@authwire/test-support/attack/target.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
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
      for (let count = 0; count <= sharedLimits.pipelines.key; count++) {
        const stream = connection.open(header(path, { key: target.keys.all }))
        stream.stream.write(unreadable)
        expect(await endOf(stream)).toBe("3 NO_ERROR")
      }
      connection.close()
    },
  )
})
