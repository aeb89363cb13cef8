import type { PipelineSettings } from "@authwire/proto"
import { Code, ConnectError } from "@connectrpc/connect"
import type { Client, Metadata } from "@grpc/grpc-js"
import { openPipelineStream, type PipelineStream } from "./pipeline-stream.js"
import type { PipelinedCall } from "./pipelined-call.js"

/** One connection of a pipeline: at most one stream that takes calls, and what is known of the place. */
export interface Member {
  /** The stream that takes calls, if there is one; it may still have to hear from the service. */
  readonly stream: PipelineStream | undefined
  /** A stream that the service asked to leave; it takes calls until there is another. */
  readonly leaving: PipelineStream | undefined
  /** Whether the place carried the last stream, which then had nothing to do: a new one can have calls at once. */
  readonly isResting: boolean
  /** Whether the place answers, but not to a pipeline: a proxy or an older server. */
  readonly refusesPipeline: boolean
  /** Why it had no stream when it last wanted one. */
  readonly error: ConnectError | undefined
  /** Opens a stream if there is none and it is not too early. */
  open(): void
  /** Ends a stream that had nothing to do since this was called before. */
  rest(): void
  /** Lets the stream go that the service asked to leave. */
  leave(): void
  /** Lets what is under way end, and takes no more. */
  close(): void
}

/** What its owner hears of a member. */
export interface MemberEvents {
  /** There is room for calls, or an end to the hope for it. `unsent` calls must go elsewhere. */
  changed(unsent: PipelinedCall[]): void
  /** The place failed: perhaps there are others by now. */
  failed(): void
}

export interface MemberOptions {
  /** A channel of its own: closed with the member. */
  client: Client
  metadata: Metadata
  events: MemberEvents
  now: () => number
  random: () => number
}

/** How long the service may take to say that it carries a stream, in milliseconds. */
const settingsTimeoutMs = 2_000
/** How long a place is left in peace that does not carry pipelines, or does not say so, in milliseconds. */
const refusedMs = 60_000
const silentMs = 5_000
/** The pause after a failure, in milliseconds: doubled with each, less up to a half by chance. */
const minPauseMs = 100
const maxPauseMs = 2_000

export function createMember({ client, metadata, events, now, random }: MemberOptions): Member {
  let stream: PipelineStream | undefined
  let leaving: PipelineStream | undefined
  let known: PipelineSettings | undefined
  let resting = false
  let refusesPipeline = false
  let failures = 0
  let retryAt = Number.NEGATIVE_INFINITY
  let error: ConnectError | undefined

  function leave(): void {
    leaving?.finish()
    leaving = undefined
  }

  function fail(cause: ConnectError): void {
    error = cause
    failures++
    // What carried pipelines before has not become an old server: it is down. And so is what cannot be reached.
    refusesPipeline = known === undefined && cause.code !== Code.Unavailable
    const growingMs = Math.min(maxPauseMs, minPauseMs * 2 ** (failures - 1))
    const silent = cause.code === Code.DeadlineExceeded
    const pauseMs = refusesPipeline ? (silent ? silentMs : refusedMs) : growingMs
    retryAt = now() + pauseMs * (1 - random() / 2)
    leave()
  }

  function open(): void {
    if (stream !== undefined || now() < retryAt) return
    const trusted = resting ? known : undefined
    resting = false
    let carried = false
    const timer = setTimeout(() => {
      const code = known === undefined ? Code.DeadlineExceeded : Code.Unavailable
      opening.abandon(new ConnectError("the service does not say that it carries a pipeline", code))
    }, settingsTimeoutMs)
    const opening = openPipelineStream(client, metadata, trusted, {
      opened(settings) {
        clearTimeout(timer)
        carried = true
        known = settings
        failures = 0
        error = undefined
        refusesPipeline = false
        leave()
        events.changed([])
      },
      draining() {
        if (stream !== opening) return
        leave()
        leaving = opening
        stream = undefined
        open()
        events.changed([])
      },
      room: () => events.changed([]),
      closed(unsent, cause) {
        clearTimeout(timer)
        if (stream === opening) stream = undefined
        if (leaving === opening) leaving = undefined
        if (!carried) fail(cause ?? new ConnectError("the service ended the stream", Code.Unavailable))
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
    get refusesPipeline() {
      return refusesPipeline
    },
    get error() {
      return error
    },
    open,
    rest() {
      if (stream?.isOpen !== true || !stream.idle()) return
      stream.finish()
      stream = undefined
      resting = true
    },
    leave,
    close() {
      stream?.finish()
      leave()
      stream = undefined
      resting = false
      retryAt = Number.POSITIVE_INFINITY
      client.close()
    },
  }
}
