import type { ServerHttp2Session } from "node:http2"

/**
 * What one connection may hold, at both doors. Beyond these, HTTP/2 of Node bounds a connection by itself: header
 * fields (128 in a request), streams reset by the client (a burst of 1,000 and 33 a second after it, against rapid
 * reset), invalid frames (1,000), and answers to settings and pings that the client does not read (1,000).
 */
export const limits = {
  /** Streams of HTTP/2 that are open at the same time. A pipeline is one, whatever it carries. */
  maxConcurrentStreams: 1_000,
  /** The header of a request, in bytes. Until a client of HTTP/2 has acknowledged that, it is 64 KiB. */
  maxHeaderBytes: 16 * 1024,
} as const

/** Closes a connection of HTTP/2 that has no stream for `idleMs`, with a GOAWAY: its client may connect again. */
export function closeWhenIdle(session: ServerHttp2Session, idleMs: number): void {
  let streams = 0
  const timer = setTimeout(() => streams === 0 && session.close(), idleMs).unref()
  session.on("stream", (stream) => {
    streams++
    stream.once("close", () => {
      streams--
      if (streams === 0) timer.refresh()
    })
  })
  session.once("close", () => clearTimeout(timer))
}
