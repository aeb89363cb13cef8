import type { EventService } from "@authwire/proto"
import { Failure } from "../errors/failure.js"
import type { EventFeed } from "../events/feed.js"
import { watch } from "../events/watch.js"
import type { Implementation } from "../rpc/call.js"
import type { EventStore } from "../store/store.js"
import { sharedLimits, sharesOf } from "../util/shared-limits.js"
import { fromEvent, toEventKinds } from "./wire/event.js"

/** Creates the service for the events of the store. */
export function eventService(deps: { events: EventStore; feed: EventFeed }): Implementation<typeof EventService> {
  const { events } = deps
  const shares = sharesOf(sharedLimits.eventStreams)

  return {
    async *watch({ startCursor, kinds }, caller, call) {
      if (!events.isEnabled) throw new Failure("EVENTS_NOT_KEPT")
      const start = startCursor === "" ? undefined : events.positionOf(caller, startCursor)
      const streams = shares(call.owner)
      const holder = streams.takeOrHolder(1)
      if (holder !== undefined) throw tooMany(holder)
      try {
        const cursorOf = events.sealer(caller)
        for await (const { position, event } of watch(deps, caller, { start, kinds: toEventKinds(kinds) })) {
          yield { cursor: cursorOf(position), event: event && fromEvent(event) }
        }
      } finally {
        streams.give(1)
      }
    },
  }
}

function tooMany(whose: string): Failure {
  return new Failure("TOO_MANY_CALLS", { message: `${whose} has reached the limit of streams of events` })
}
