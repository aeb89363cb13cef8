import type { EventService } from "@authwire/proto"
import { Failure } from "../errors/failure.js"
import type { EventFeed } from "../events/feed.js"
import { watch } from "../events/watch.js"
import type { Call, Implementation } from "../rpc/call.js"
import type { EventStore } from "../store/store.js"
import { streamLimit } from "../util/stream-limit.js"
import { fromEvent, toEventKinds } from "./wire/event.js"

/** The largest number of open streams, of one API key and in all. Each stream may buffer 1,000 events. */
export const watchLimits = { ofKey: 64, inAll: 512 } as const

/** Creates the service for the events of the store. */
export function eventService(deps: { events: EventStore; feed: EventFeed }): Implementation<typeof EventService> {
  const { events } = deps
  const enter = streamLimit(
    watchLimits,
    () => new Failure("TOO_MANY_CALLS", { message: "too many streams of events are open" }),
  )

  return {
    async *watch({ startCursor, kinds }, call: Call) {
      if (!events.isEnabled) throw new Failure("EVENTS_NOT_KEPT")
      const start = startCursor === "" ? undefined : events.positionOf(call, startCursor)
      const leave = enter(call.identity?.keyId ?? "")
      try {
        const cursorOf = events.sealer(call)
        for await (const { position, event } of watch(deps, call, { start, kinds: toEventKinds(kinds) })) {
          yield { cursor: cursorOf(position), event: event && fromEvent(event) }
        }
      } finally {
        leave()
      }
    },
  }
}
