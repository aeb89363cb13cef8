import { setTimeout as delay } from "node:timers/promises"
import type { SessionCacheService } from "@authwire/proto"
import { Failure } from "../errors/failure.js"
import type { Implementation } from "../rpc/call.js"
import type { Hubs } from "../session-cache/hubs.js"
import { waitsUntil } from "../util/abort.js"
import { pacer } from "../util/pacer.js"
import { cacheMessages } from "../util/shared-limits.js"

/** Creates the service for clients that cache sessions in memory. */
export function sessionCacheService({ hubs }: { hubs: Hubs }): Implementation<typeof SessionCacheService> {
  const now = () => performance.now()
  /** Bounded by the number of tenants. */
  const tenants = new Map<string, () => number>()
  return {
    async *follow(requests, caller, call) {
      // Without events, no client could be notified that a cached session has changed.
      if (!hubs.isOn) throw new Failure("EVENTS_NOT_KEPT")
      const { signal } = caller
      let failure: unknown
      let isRead = false
      let wake = () => {}
      const stream = hubs.open(call.owner, {
        ready: () => wake(),
        fail(thrown: Failure) {
          failure = thrown
          wake()
        },
      })
      const ofTenant = tenants.get(caller.tenant) ?? pacer(cacheMessages.tenant, now)
      tenants.set(caller.tenant, ofTenant)
      const ofStream = pacer(cacheMessages.stream, now)
      const read = async () => {
        try {
          for await (const request of requests) {
            // No further message is read meanwhile, so the client has to wait too.
            const waitMs = Math.max(ofStream(), ofTenant())
            if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => {})
            if (signal.aborted) break
            stream.receive(request)
          }
        } catch (thrown) {
          failure = thrown
        }
        isRead = true
        wake()
      }
      void read()
      const waits = waitsUntil(signal)
      try {
        for (;;) {
          if (failure !== undefined) throw failure
          signal.throwIfAborted()
          const news = stream.take()
          if (news !== undefined) yield news
          else if (isRead) return
          else {
            const woken = new Promise<void>((resolve) => {
              wake = resolve
            })
            await waits.for(woken)
          }
        }
      } finally {
        waits.end()
        stream.end()
      }
    },
  }
}
