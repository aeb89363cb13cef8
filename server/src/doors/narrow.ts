import type { Http2Session } from "node:http2"

/** Streams that a connection may open at the same time while calls that come over it are refused. */
const narrowStreams = 8
/** For how long after the last of them, in milliseconds. */
const narrowMs = 1_000

const narrowed = new WeakMap<Http2Session, NodeJS.Timeout>()

/**
 * Lets a connection open few streams for a while: what it does not open waits at the client, where it costs nobody
 * anything. Streams that are open stay. A client that opens more all the same is told REFUSED_STREAM by HTTP/2 itself,
 * once it has acknowledged the setting.
 *
 * @param usualStreams how many it may open otherwise
 */
export function narrow(session: Http2Session, usualStreams: number): void {
  const timer = narrowed.get(session)
  if (timer !== undefined) timer.refresh()
  else if (set(session, narrowStreams)) {
    const widen = () => {
      if (session.destroyed || set(session, usualStreams)) narrowed.delete(session)
      else narrowed.get(session)?.refresh()
    }
    narrowed.set(session, setTimeout(widen, narrowMs).unref())
  }
}

/** False if the client has not acknowledged the last settings yet: there may only be so many of them. */
function set(session: Http2Session, maxConcurrentStreams: number): boolean {
  if (session.destroyed || session.pendingSettingsAck) return false
  session.settings({ maxConcurrentStreams })
  return true
}
