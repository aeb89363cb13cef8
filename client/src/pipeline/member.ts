import type { PipelineSettings } from "@authwire/proto/slim"
import { Code, ConnectError } from "@connectrpc/connect"
import { connectivityState, type Metadata } from "@grpc/grpc-js"
import { afterReading } from "../transport/after-reading.js"
import { type CheckedClient, unanswered } from "../transport/checked-client.js"
import type { PipelinedCall } from "./call.js"
import { openPipelineStream, type PipelineStream } from "./stream.js"

/** One connection of the pool: at most one stream that takes calls, and the state of its endpoint. */
export interface Member {
  /** The stream that takes calls, if there is one. It may still wait for the service's settings. */
  readonly stream: PipelineStream | undefined
  /** A stream that the service asked to leave. It takes calls for a short time, until there is another one. */
  readonly draining: PipelineStream | undefined
  /** Whether the last stream ended because it was idle. A new one can then take calls at once or soon. */
  readonly isIdle: boolean
  /** Whether the endpoint answers but does not carry pipelines, like some proxies or an older server. */
  readonly rejectsPipeline: boolean
  /** The error of the last attempt to open a stream. */
  readonly error: ConnectError | undefined
  /** Opens a stream if there is none and the back-off is over. */
  open(): void
  /** Opens a stream if there is none, without regard to the back-off, because it will be needed soon. */
  openNow(): void
  /** Ends a stream that had no call since this was called before. */
  endIfIdle(): void
  /** Ends the draining stream when its calls are answered. */
  endDraining(): void
  /** Drops an established connection, because it may be dead. The next call opens a new one. Active calls may still end. */
  reconnect(): void
  /** Closes the member. Active calls may still end. */
  close(): void
}

/** The events of a member. */
export interface MemberEvents {
  /** A stream has opened, or could not be opened. `unsent` calls must be dispatched again. */
  changed(unsent: PipelinedCall[]): void
  /** Calls have ended. */
  space(): void
  /** The service asked to leave the stream. */
  draining(): void
  /** The endpoint failed. There may be other endpoints by now. */
  failed(): void
}

export interface MemberOptions {
  /** Creates a channel of its own, which calls `dead` when its connection does not answer any more. After a failure a new one is created, so that the back-off of this file applies and not that of grpc-js. */
  connect: (dead: () => void) => CheckedClient
  /** Improves the message of a connection error. */
  explain: (error: ConnectError) => ConnectError
  metadata: Metadata
  events: MemberEvents
  now: () => number
  random: () => number
}

/** The time that the service has to send its settings, in milliseconds. */
const settingsTimeoutMs = 2_000
/** The pause before a pipeline is tried again at an endpoint that does not carry them, or that sent no settings, in milliseconds. */
const rejectedMs = 60_000
const silentMs = 5_000
/** The bounds of the back-off after a failure, in milliseconds. It doubles with each failure, minus a random part of up to a half. */
const minPauseMs = 100
const maxPauseMs = 2_000
/** How long a draining stream takes further calls, in milliseconds. The service ends it some time later. */
const drainingMs = 500

export function createMember({ connect, explain, metadata, events, now, random }: MemberOptions): Member {
  const member: { -readonly [Name in keyof Member]: Member[Name] } = {
    stream: undefined,
    draining: undefined,
    isIdle: false,
    rejectsPipeline: false,
    error: undefined,
    open,
    openNow,
    endIfIdle,
    endDraining,
    reconnect,
    close,
  }
  let client: CheckedClient | undefined
  /** All streams that have not ended, with their connections, of which `client` is the last. */
  const streams = new Map<PipelineStream, CheckedClient>()
  let lastSettings: PipelineSettings | undefined
  let failures = 0
  let retryAt = Number.NEGATIVE_INFINITY
  let drainingTimer: NodeJS.Timeout | undefined
  let watched: CheckedClient | undefined
  let closed = false

  function endDraining(): void {
    clearTimeout(drainingTimer)
    member.draining?.finish()
    member.draining = undefined
  }

  /** Moves the next calls to another stream. */
  function moveOn(): void {
    endDraining()
    member.draining = member.stream
    drainingTimer = setTimeout(endDraining, drainingMs)
    member.stream = undefined
    events.draining()
    events.changed([])
  }

  /** Watches for a GOAWAY, which a proxy sends before it closes a connection with active calls. */
  function watch(): void {
    if (client === undefined || watched === client) return
    const current = client
    watched = current
    current.getChannel().watchConnectivityState(connectivityState.READY, Number.POSITIVE_INFINITY, () => {
      if (watched === current) watched = undefined
      if (client === current && member.stream?.isOpen) moveOn()
    })
  }

  function isConnected(): boolean {
    return client?.getChannel().getConnectivityState(false) === connectivityState.READY
  }

  function fail(cause: ConnectError, silent: boolean): void {
    member.error = explain(cause)
    failures++
    const reachable = isConnected()
    const down = cause.code === Code.Unavailable
    // An endpoint that carried pipelines before and sends nothing now is down, not an older server.
    member.rejectsPipeline = silent ? lastSettings === undefined : !down || reachable
    const growingMs = Math.min(maxPauseMs, minPauseMs * 2 ** (failures - 1))
    const pauseMs = !member.rejectsPipeline || down ? growingMs : silent ? silentMs : rejectedMs
    retryAt = now() + pauseMs * (1 - random() / 2)
    if (reachable && member.rejectsPipeline) return
    disconnect()
  }

  /** Leaves the connection. It is closed, and no longer checked, when its calls have ended. */
  function disconnect(): void {
    const left = client
    client = undefined
    if (left !== undefined) closeUnused(left)
  }

  function closeUnused(connection: CheckedClient): void {
    const isUsed = [...streams].some(([one, of]) => of === connection && one.load > 0)
    if (connection !== client && !isUsed) connection.close()
  }

  /** Resets the back-off. */
  function resetBackoff(): void {
    if (member.rejectsPipeline) return
    failures = 0
    retryAt = Number.NEGATIVE_INFINITY
  }

  function open(): void {
    if (member.stream !== undefined || closed) return
    const trusted = member.isIdle && isConnected() ? lastSettings : undefined
    member.isIdle = false
    if (now() < retryAt) return
    client ??= connected()
    const connection = client
    let carried = false
    let silent = false
    const timer = afterReading(settingsTimeoutMs, () => {
      if (carried) return
      silent = true
      const code = lastSettings === undefined ? Code.DeadlineExceeded : Code.Unavailable
      opening.abandon(new ConnectError("the service has not announced in time that it supports pipelines", code))
    })
    const opening = openPipelineStream(connection, metadata, trusted, {
      opened(settings) {
        clearTimeout(timer)
        carried = true
        if (client !== connection) return
        lastSettings = settings
        failures = 0
        member.error = undefined
        member.rejectsPipeline = false
        endDraining()
        watch()
        events.changed([])
      },
      draining() {
        if (member.stream === opening) moveOn()
      },
      space: events.space,
      closed(unsent, cause) {
        clearTimeout(timer)
        if (member.stream === opening) member.stream = undefined
        if (member.draining === opening) endDraining()
        streams.delete(opening)
        if (!carried && client === connection)
          fail(cause ?? new ConnectError("the service ended the stream", Code.Unavailable), silent)
        else closeUnused(connection)
        events.changed(unsent)
        if (cause !== undefined) events.failed()
      },
    })
    member.stream = opening
    streams.set(opening, connection)
  }

  function connected(): CheckedClient {
    const created = connect(() => {
      if (client === created) leave(unanswered(), true)
      // Also those that were left before, and still have calls.
      for (const [one, of] of streams) if (of === created) one.abandon(unanswered())
    })
    return created
  }

  function openNow(): void {
    resetBackoff()
    open()
  }

  function endIfIdle(): void {
    const { stream } = member
    if (stream?.isOpen !== true || !stream.idle()) return
    stream.finish()
    member.stream = undefined
    member.isIdle = true
  }

  function reconnect(): void {
    if (!isConnected()) return
    const connection = client
    leave(new ConnectError("the process was suspended", Code.Unavailable), false)
    // If it is dead, the active calls must not wait for their deadlines.
    connection?.check()
  }

  /** Drops the connection. Active calls fail if it is known to be dead; otherwise they may still end. */
  function leave(error: ConnectError, isDead: boolean): void {
    const { stream, draining } = member
    const connection = client
    clearTimeout(drainingTimer)
    member.stream = undefined
    member.draining = undefined
    client = undefined
    member.isIdle = false
    resetBackoff()
    for (const one of [stream, draining]) {
      // Without calls it is cancelled, because its regular end would never be answered.
      if (isDead || one?.load === 0) one?.abandon(error)
      else one?.finish()
    }
    if (connection !== undefined) closeUnused(connection)
  }

  function close(): void {
    closed = true
    member.stream?.finish()
    endDraining()
    member.stream = undefined
    member.isIdle = false
    disconnect()
  }

  return member
}
