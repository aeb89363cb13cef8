import { SessionService } from "@authwire/proto/slim"
import { createClient, createRouterTransport } from "@connectrpc/connect"
import { expect, test } from "@jest/globals"
import { layered } from "../transport/layer.js"
import { sessionCache } from "./cache.js"
import { caching } from "./caching.js"

test("a write evicts from the cache that another client has opened, before the service answers", async () => {
  const cache = sessionCache({ size: 1, now: () => 0, timeOfDay: () => 0 })
  cache.grant(1)
  const session = { sessionToken: "s1", userId: "u1", expires: new Date(1) }
  cache.keep(cache.beginRead(), { session, user: { id: "u1", email: "", emailVerified: null }, keys: [] })
  expect(cache.get("s1")).toBeDefined()
  const opened = { cache, used() {} }
  const shared = { use: () => opened, opened, hasLeft: false }
  const service = createRouterTransport((router) =>
    router.service(SessionService, {
      deleteSession() {
        expect(cache.get("s1")).toBeUndefined()
        return {}
      },
    }),
  )
  const { deleteSession } = createClient(SessionService, layered([caching(shared)], service))
  await deleteSession({ sessionToken: "s1" })
})
