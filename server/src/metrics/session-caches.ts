import { Gauge, type Registry } from "prom-client"

/** Clients that follow changes for their session caches, and leases by which they may use what they keep. */
export type SessionCacheLoad = () => { streams: number; leases: number }

/** @returns what has the load shown. */
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
  gauge("authwire_session_cache_streams", "Clients that follow changes for their session caches.", (of) => of().streams)
  gauge(
    "authwire_session_cache_leases",
    "Session caches that may be used, also those whose stream was cut.",
    (of) => of().leases,
  )
  return (given) => {
    load = given
  }
}
