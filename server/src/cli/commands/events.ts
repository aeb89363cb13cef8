import { eventFeed } from "../../events/feed.js"
import { watch } from "../../events/watch.js"
import { databaseClock, eventStore } from "../../store/sql/index.js"
import type { StoredEvent } from "../../store/types.js"
import { printable } from "../../util/printable.js"
import type { Work } from "./output.js"
import { stopSignal } from "./stop-signal.js"
import { requireTenant, withDatabase } from "./with-database.js"

/** The polling interval, in milliseconds. A person does not read faster. */
const pollMs = 250

/** `authwire events tail`: prints events as they are written, until a signal, or until nobody reads them. Throws StartError. */
export const tailEvents: Work<"events tail"> = async (configuration, { print }) => {
  const { tenant, since, after, kinds, json } = configuration
  const stop = new AbortController()
  const stopped = stop.signal
  stopSignal().then(() => stop.abort())
  await withDatabase(
    configuration,
    async (database, log) => {
      const events = eventStore(await requireTenant(database, tenant), { isEnabled: true })
      const feed = eventFeed({
        events,
        pollMs,
        onFailure: (error) => log.warn({ err: error }, "the events cannot be read: retrying"),
      })
      try {
        const caller = { tenant, signal: stopped }
        const { id: history, before } = await events.history(caller)
        const first = after ?? (since > 0 ? before : undefined)
        const now = await databaseClock(database)(database.reads({ signal: stopped }))
        const from = after === undefined && since > 0 ? now.getTime() - since : 0
        const start = first === undefined ? undefined : { history, sequence: first }
        const wanted = kinds && new Set(kinds)
        for await (const { event } of watch({ events, feed }, caller, { start, kinds: wanted })) {
          if (event !== undefined && event.created.getTime() >= from)
            await print(`${json ? JSON.stringify(event) : lineOf(event)}\n`)
        }
      } catch (error) {
        if (!stopped.aborted) throw error
      } finally {
        await feed.stop()
      }
    },
    { what: "the events" },
  )
}

/** Formats an event as one line. */
function lineOf({ created, sequence, kind, userId, sessionId, provider }: StoredEvent): string {
  const ids = { user: userId, session: sessionId, provider }
  const named = Object.entries(ids).flatMap(([name, id]) => (id === undefined ? [] : `${name}=${id}`))
  return printable([created.toISOString(), sequence, kind, ...named].join("  "))
}
