import { Counter, Gauge, type Registry } from "prom-client"
import type { FeedObserver } from "../events/feed.js"

/** Creates the metrics of the reading of events. */
export function eventMetrics(registry: Registry): FeedObserver {
  const registers = [registry]
  const subscribers = new Gauge({
    name: "authwire_event_subscribers",
    help: "Streams of events, and other readers of them, in this process.",
    registers,
  })
  const events = new Counter({
    name: "authwire_events_read_total",
    help: "Events that were read for them, of all tenants, each once in each process that has any.",
    registers,
  })
  const lag = new Gauge({
    name: "authwire_event_lag_seconds",
    help: "How long the oldest of the events that were read last had been there, by the clocks of the two processes.",
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
