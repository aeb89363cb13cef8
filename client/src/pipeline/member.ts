import type { PipelineSettings } from "@authwire/proto/slim"
import { Code, ConnectError } from "@connectrpc/connect"
import { type Client, connectivityState, type Metadata } from "@grpc/grpc-js"
import type { PipelinedCall } from "./call.js"
import { openPipelineStream, type PipelineStream } from "./stream.js"

/** One connection of a pipeline: at most one stream that takes calls, and what is known of the endpoint. */
export interface Member {
  /** The stream that takes calls, if there is one; it may still have to hear from the service. */
  readonly stream: PipelineStream | undefined
  /** A stream that the service asked to leave; it takes calls until there is another, but not for long. */
  readonly leaving: PipelineStream | undefined
  /** Whether the last stream ended because it had nothing to do: a new one can have calls at once or soon. */
  readonly isResting: boolean
  /** Whether the endpoint answers, but not to a pipeline: a proxy or an older server. */
  readonly rejectsPipeline: boolean
  /** Why it had no stream when it last wanted one. */
  readonly error: ConnectError | undefined
  /** Opens a stream if there is none and it is not too early. */
  open(): void
  /** Opens a stream if there is none, although it may be early: it is about to be needed. */
  hurry(): void
  /** Ends a stream that had nothing to do since this was called before. */
  rest(): void
  /** Lets the stream go that the service asked to leave. */
  leave(): void
  /** Leaves the connection, if it is made, for it may be dead: the next call has a new one. Active calls may still end. */
  renew(): void
  /** Lets what is active end, and takes no more. */
  close(): void
}

/** What its owner hears of a member. */
export interface MemberEvents {
  /** A stream takes calls, or there is an end to the hope for one. `unsent` calls must go elsewhere. */
  changed(unsent: PipelinedCall[]): void
  /** Calls have ended. */
  space(): void
  /** A stream is about to be left. */
  leaving(): void
  /** The endpoint failed: perhaps there are others by now. */
  failed(): void
}

export interface MemberOptions {
  /** Makes a channel of its own. After a failure there is a new one: its pauses are ours. */
  connect: () => Client
  /** Gives an error that there is no connection better words. */
  explain: (error: ConnectError) => ConnectError
  metadata: Metadata
  events: MemberEvents
  now: () => number
  random: () => number
}

/** How long the service may take to say that it carries a stream, in milliseconds. */
const settingsTimeoutMs = 2_000
/** How long an endpoint is left in peace that does not carry pipelines, or does not say so, in milliseconds. */
const rejectedMs = 60_000
const silentMs = 5_000
/** The pause after a failure, in milliseconds: doubled with each, less up to a half by chance. */
const minPauseMs = 100
const maxPauseMs = 2_000
/** How long a stream takes calls that the service asked to leave: it ends them a while later. In milliseconds. */
const leavingMs = 500

export function createMember({ connect, explain, metadata, events, now, random }: MemberOptions): Member {
  let client: Client | undefined
  let stream: PipelineStream | undefined
  let leaving: PipelineStream | undefined
  let known: PipelineSettings | undefined
  let resting = false
  let rejectsPipeline = false
  let failures = 0
  let retryAt = Number.NEGATIVE_INFINITY
  let error: ConnectError | undefined
  let leavingTimer: NodeJS.Timeout | undefined
  let watched: Client | undefined
  let closed = false

  function leave(): void {
    clearTimeout(leavingTimer)
    leaving?.finish()
    leaving = undefined
  }

  /** The next calls belong on another stream. */
  function moveOn(): void {
    leave()
    leaving = stream
    leavingTimer = setTimeout(leave, leavingMs)
    stream = undefined
    events.leaving()
    events.changed([])
  }

  /** A proxy that ends a connection says so (GOAWAY) before it cuts what is active. */
  function watch(): void {
    if (client === undefined || watched === client) return
    const current = client
    watched = current
    current.getChannel().watchConnectivityState(connectivityState.READY, Number.POSITIVE_INFINITY, () => {
      if (watched === current) watched = undefined
      if (client === current && stream?.isOpen) moveOn()
    })
  }

  function isConnected(): boolean {
    return client?.getChannel().getConnectivityState(false) === connectivityState.READY
  }

  function fail(cause: ConnectError, silent: boolean): void {
    error = explain(cause)
    failures++
    const reachable = isConnected()
    const down = cause.code === Code.Unavailable
    // What carried pipelines before and is silent now has not become an old server: it is down.
    rejectsPipeline = silent ? known === undefined : !down || reachable
    const growingMs = Math.min(maxPauseMs, minPauseMs * 2 ** (failures - 1))
    const pauseMs = !rejectsPipeline || down ? growingMs : silent ? silentMs : rejectedMs
    retryAt = now() + pauseMs * (1 - random() / 2)
    if (reachable && rejectsPipeline) return
    client?.close()
    client = undefined
  }

  /** Ends a stream whose connection may be dead: then nobody would answer that it ends. */
  function discard(stream: PipelineStream | undefined): void {
    if (stream?.load === 0) stream.abandon(new ConnectError("the process was suspended", Code.Unavailable))
    else stream?.finish()
  }

  /** Makes the next attempt the first one. */
  function forget(): void {
    if (rejectsPipeline) return
    failures = 0
    retryAt = Number.NEGATIVE_INFINITY
  }

  function open(): void {
    if (stream !== undefined || closed) return
    const trusted = resting && isConnected() ? known : undefined
    resting = false
    if (now() < retryAt) return
    client ??= connect()
    const connection = client
    let carried = false
    let silent = false
    const timer = setTimeout(() => {
      silent = true
      const code = known === undefined ? Code.DeadlineExceeded : Code.Unavailable
      opening.abandon(new ConnectError("the service does not say that it carries a pipeline", code))
    }, settingsTimeoutMs)
    const opening = openPipelineStream(connection, metadata, trusted, {
      opened(settings) {
        clearTimeout(timer)
        carried = true
        if (client !== connection) return
        known = settings
        failures = 0
        error = undefined
        rejectsPipeline = false
        leave()
        watch()
        events.changed([])
      },
      draining() {
        if (stream === opening) moveOn()
      },
      space: events.space,
      closed(unsent, cause) {
        clearTimeout(timer)
        if (stream === opening) stream = undefined
        if (leaving === opening) leave()
        if (!carried && client === connection)
          fail(cause ?? new ConnectError("the service ended the stream", Code.Unavailable), silent)
        events.changed(unsent)
        if (cause !== undefined) events.failed()
      },
    })
    stream = opening
  }

  return {
    get stream() {
      return stream
    },
    get leaving() {
      return leaving
    },
    get isResting() {
      return resting
    },
    get rejectsPipeline() {
      return rejectsPipeline
    },
    get error() {
      return error
    },
    open,
    hurry() {
      forget()
      open()
    },
    rest() {
      if (stream?.isOpen !== true || !stream.idle()) return
      stream.finish()
      stream = undefined
      resting = true
    },
    leave,
    renew() {
      if (!isConnected()) return
      const [old, last, connection] = [stream, leaving, client]
      clearTimeout(leavingTimer)
      stream = undefined
      leaving = undefined
      client = undefined
      resting = false
      forget()
      discard(old)
      discard(last)
      connection?.close()
    },
    close() {
      closed = true
      stream?.finish()
      leave()
      stream = undefined
      resting = false
      client?.close()
      client = undefined
    },
  }
}
