import { Gauge, type Registry } from "prom-client"

/** Returns the number of clients that follow changes for their session caches, and of leases to use such caches. */
export type SessionCacheLoad = () => { streams: number; leases: number }

/** Creates the metrics of session caches. @returns the function that sets the source of the load. */
export function sessionCacheMetrics(registers: Registry[]): (load: SessionCacheLoad) => void {
  let load: SessionCacheLoad | undefined
  const gauge = (name: string, help: string, read: (load: SessionCacheLoad) => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        if (load !== undefined) this.set(read(load))
      },
    })
  gauge(
    "authwire_session_cache_streams",
    "Open streams of clients that follow changes for their session caches.",
    (of) => of().streams,
  )
  gauge(
    "authwire_session_cache_leases",
    "Session caches that may serve sessions, including those whose stream was disconnected.",
    (of) => of().leases,
  )
  return (given) => {
    load = given
  }
}
