import { Gauge, type Registry } from "prom-client"
import type { LimitLoad } from "../overload/concurrency-limit.js"

/** The functions that return the load of each concurrency limit, by the resource that its calls use. */
export type LimitLoads = Readonly<Record<"store" | "tokens", () => LimitLoad>>

/** Creates the metrics of the concurrency limits. @returns the function that sets the limits to expose. */
export function limitMetrics(registers: Registry[]): (loads: LimitLoads) => void {
  let loads: [limit: string, load: () => LimitLoad][] = []
  const gauge = (name: string, help: string, read: (load: LimitLoad) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ["limit"] as const,
      registers,
      collect() {
        for (const [limit, load] of loads) this.set({ limit }, read(load()))
      },
    })
  gauge("authwire_calls_active", "The number of active calls, by concurrency limit.", ({ active }) => active)
  gauge("authwire_calls_max", "The maximum number of active calls.", ({ maxCalls }) => maxCalls)
  gauge("authwire_calls_waiting", "The number of calls that wait for a slot.", ({ waiting }) => waiting)
  gauge("authwire_api_keys_active", "The number of API keys with active or waiting calls.", ({ keys }) => keys)
  return (given) => {
    loads = Object.entries(given)
  }
}
