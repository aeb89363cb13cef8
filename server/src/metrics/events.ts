import { Counter, Gauge, type Registry } from "prom-client"
import type { FeedObserver } from "../events/feed.js"

/** Creates the metrics of the reading of events. */
export function eventMetrics(registry: Registry): FeedObserver {
  const registers = [registry]
  const subscribers = new Gauge({
    name: "authwire_event_subscribers",
    help: "Streams of events, and other readers of events, in this process.",
    registers,
  })
  const events = new Counter({
    name: "authwire_events_read_total",
    help: "Events of all tenants that were read from the database; each process that has streams or readers counts an event once.",
    registers,
  })
  const lag = new Gauge({
    name: "authwire_event_lag_seconds",
    help: "The age of the oldest event of the last read, by the clocks of the writing and the reading process.",
    registers,
  })
  return {
    subscribers: (count) => subscribers.set(count),
    read(count, lagMs) {
      events.inc(count)
      lag.set(lagMs / 1000)
    },
  }
}
