import { EventService, type WatchRequestSchema, type WatchResponse } from "@authwire/proto/slim"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { callError, isFromService, retryAfterMs } from "./errors/error.js"
import { fallbackLog } from "./transport/fallback-log.js"
import { pause } from "./transport/pause.js"

/** The client of the events of a tenant. */
export interface EventsClient {
  /**
   * Iterates over the events of the tenant in the order of their commits, without an end. The key needs the scope
   * `events:watch`. The iteration begins at the first `next`, and keeps the process alive.
   *
   * Each response has a `cursor`, and an `event` unless it is a checkpoint: the first response is one, and one comes every
   * five seconds without events. Store the cursor when the event is processed, and give it as `startCursor` to the next
   * process; without one, events are those that are committed from now on.
   *
   * After a disconnect the iteration continues by itself from its last cursor, after a random pause of 50 ms to 10 s that
   * grows with each failure. So while the process lives it yields each event once. It continues for as long as the service
   * cannot be reached, is overloaded or restarts, and logs that once with `console.warn`.
   *
   * @param request - `startCursor`: the position after which events are yielded. `kinds`: the kinds of events. Default: all.
   * @throws AuthwireError by the iteration, if trying again would not help. With the reason `CURSOR_EXPIRED` (OUT_OF_RANGE),
   * events after the cursor are gone, or it is of another database, such as one before a restore: watch without a cursor,
   * wait for the first response, and read your data again. Others are API_KEY_INVALID, SCOPE_MISSING, EVENTS_NOT_KEPT and
   * INVALID_FIELD.
   * @example
   * ```ts
   * for await (const { cursor, event } of authwire.events.watch({ startCursor }, { signal })) {
   *   if (event?.kind === EventKind.USER_DELETED) await forget(event.userId)
   *   await keep(cursor)
   * }
   * ```
   */
  watch(request?: MessageInitShape<typeof WatchRequestSchema>, options?: WatchOptions): AsyncIterable<WatchResponse>
}

export interface WatchOptions {
  /** Ends the iteration, without an error, also while it waits. Default: none. */
  signal?: AbortSignal | undefined
  /** Additional request headers. Default: none. */
  headers?: HeadersInit | undefined
}

/** The pause after the first failure, in ms. Each further one doubles it; a random part of a half is taken off. */
const minPauseMs = 100
const maxPauseMs = 10_000

/**
 * The time without a response after which the stream counts as lost, in milliseconds. The service sends one every 5 seconds. The
 * time in which the caller processes a response does not count.
 */
const silentMs = 30_000

/** Statuses of proxies and of the network after which another stream may succeed. */
const passing: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.Canceled,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
  Code.Aborted,
  Code.Internal,
  Code.Unknown,
])

/**
 * Creates the client of the events.
 *
 * @param transport - It must support server streams.
 * @param address - The address of the service, for messages.
 */
export function eventsOver(transport: Transport, address: string): EventsClient {
  const events = createClient(EventService, transport)

  async function* watch(
    request: MessageInitShape<typeof WatchRequestSchema> = {},
    { signal, headers }: WatchOptions = {},
  ): AsyncGenerator<WatchResponse, void> {
    const log = fallbackLog(address, "does not send events, so the watch tries again")
    let { startCursor = "" } = request
    let failures = 0
    while (!signal?.aborted) {
      const attempt = new AbortController()
      const end = () => attempt.abort()
      const silent = () => attempt.abort(new ConnectError("the service does not answer", Code.Unavailable))
      let timer = setTimeout(silent, silentMs)
      signal?.addEventListener("abort", end)
      let pauseMs: number
      try {
        const stream = events.watch(
          { ...request, startCursor },
          { signal: attempt.signal, ...(headers && { headers }) },
        )
        for await (const response of stream) {
          clearTimeout(timer)
          if (signal?.aborted) return
          failures = 0
          log.over()
          startCursor = response.cursor
          yield response
          timer = setTimeout(silent, silentMs)
        }
        throw new ConnectError("the stream has ended", Code.Unavailable)
      } catch (error) {
        if (signal?.aborted) return
        if (!isPassing(error)) throw callError("events.watch", address, error)
        // A stream that opens again at once is nothing to report.
        if (failures > 0) log.used(error)
        pauseMs = Math.max(retryAfterMs(error) ?? 0, Math.min(maxPauseMs, minPauseMs * 2 ** failures++))
      } finally {
        clearTimeout(timer)
        signal?.removeEventListener("abort", end)
        attempt.abort()
      }
      await pause(pauseMs * (1 - Math.random() / 2), signal)
    }
  }

  return { watch }
}

/** Whether another stream may succeed. */
function isPassing(error: unknown): error is ConnectError {
  if (!(error instanceof ConnectError)) return false
  if (isFromService(error)) return error.code === Code.Unavailable || error.code === Code.ResourceExhausted
  return passing.has(error.code)
}
