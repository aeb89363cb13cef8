import { expect, test } from "@jest/globals"
import type { Call } from "../../server/src/rpc/call.js"
import { sessionCacheService } from "../../server/src/services/session-cache.js"
import type { FollowRequest } from "../../server/src/session-cache/client-stream.js"
import type { Hubs } from "../../server/src/session-cache/hubs.js"
import { cacheMessages } from "../../server/src/util/shared-limits.js"

test("S-48: a client that sends messages too fast is read more slowly, until its stream ends", async () => {
  let received = 0
  const stream = { receive: () => void received++, take: () => undefined, end() {} }
  const service = sessionCacheService({ hubs: { isOn: true, open: () => stream } as unknown as Hubs })
  let sent = 0
  async function* flood() {
    for (; sent < 1_000; sent++) yield {} as FollowRequest
  }
  const abort = new AbortController()
  const caller = { tenant: "one", signal: abort.signal }
  const call = { owner: { tenant: "one", keyId: "key" } } as Call
  const begun = performance.now()
  const answers = service.follow(flood() as Parameters<typeof service.follow>[0], caller, call)
  const end = answers[Symbol.asyncIterator]().next()
  setTimeout(() => abort.abort(new Error("over")), 500)
  await expect(end).rejects.toThrow("over")
  const seconds = (performance.now() - begun) / 1_000
  const { atOnce, perSecond } = cacheMessages.stream
  expect(received).toBeGreaterThanOrEqual(atOnce)
  expect(received).toBeLessThanOrEqual(atOnce + perSecond * seconds + 1)
  expect(sent).toBeLessThanOrEqual(received)
})
