import { once } from "node:events"
import { causeOf, openMigratedDatabase } from "../../bootstrap/database.js"
import type { Configuration } from "../../config/configuration.js"
import { StartError } from "../../errors/start-error.js"
import { StoreError } from "../../errors/store-error.js"
import { eventFeed } from "../../events/feed.js"
import { watch } from "../../events/watch.js"
import { createLog } from "../../logging/logger.js"
import { eventStore } from "../../store/sql/index.js"
import type { StoredEvent } from "../../store/types.js"
import type { CommandOutput } from "./output.js"
import { requireTenant } from "./with-store.js"

/** The polling interval, in milliseconds. A person does not read faster. */
const pollMs = 250

/** `authwire events tail`: prints events as they are written, until a signal, or until nobody reads them. Throws StartError. */
export async function tailEvents(
  configuration: Configuration<"events tail">,
  { print }: CommandOutput,
): Promise<undefined> {
  const { tenant, since, after, kinds, json } = configuration
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat })
  const stopped = stopSignal()
  const database = await openMigratedDatabase(configuration, log)
  const events = eventStore(database, { isEnabled: true })
  const feed = eventFeed({
    events,
    pollMs,
    onFailure: (error) => log.warn({ err: error }, "the events cannot be read: retrying"),
  })
  try {
    await requireTenant(database, tenant)
    const { id: history, before } = await events.history({ signal: stopped })
    const first = after ?? (since > 0 ? before : undefined)
    const from = after === undefined && since > 0 ? Date.now() - since : 0
    const start = first === undefined ? undefined : { history, sequence: first }
    const wanted = kinds && new Set(kinds)
    for await (const { event } of watch({ events, feed }, { tenant, signal: stopped }, { start, kinds: wanted })) {
      if (event !== undefined && event.created.getTime() >= from)
        await print(`${json ? JSON.stringify(event) : lineOf(event)}\n`)
    }
  } catch (error) {
    if (stopped.aborted) return undefined
    if (!(error instanceof Error)) throw error
    const isForeseen = error instanceof StoreError || error.name === "Failure"
    if (!isForeseen) throw error
    throw new StartError(`the events: ${error instanceof StoreError ? causeOf(error) : error.message}`, {
      cause: error,
    })
  } finally {
    await feed.stop()
    await database.close()
  }
  return undefined
}

/**
 * Formats an event as one line. Control characters are replaced, because ids are chosen by callers and must not control
 * the terminal.
 */
function lineOf({ created, sequence, kind, userId, sessionId, provider }: StoredEvent): string {
  const ids = { user: userId, session: sessionId, provider }
  const named = Object.entries(ids).flatMap(([name, id]) => (id === undefined ? [] : `${name}=${id}`))
  return [created.toISOString(), sequence, kind, ...named].join("  ").replaceAll(/\p{Cc}/gu, "?")
}

function stopSignal(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ["SIGTERM", "SIGINT"] as const) once(process, signal).then(() => stop.abort())
  return stop.signal
}
