import {
  type PipelineCall,
  type PipelineRequest,
  PipelineRequestSchema,
  type PipelineResponse,
  PipelineResponseSchema,
  PipelineService,
  type PipelineSettings,
} from "@authwire/proto/slim"
import { fromBinary, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { type Client, type Metadata, type StatusObject, status } from "@grpc/grpc-js"
import { detailsOf, toBuffer, toConnectError } from "../transport/grpc-wire.js"
import type { CallOwner, PipelinedCall, Slot } from "./call.js"

/** One stream of PipelineService. */
export interface PipelineStream extends CallOwner {
  /** Whether it takes a call now. */
  readonly hasSpace: boolean
  /** Whether it takes calls, now or when other calls have ended. */
  readonly isOpen: boolean
  /** The number of its calls, active and unsent. */
  readonly load: number
  /** Sends a call. Returns false, and does nothing, if its message is larger than the service accepts. */
  send(call: PipelinedCall): boolean
  /** Whether it had no call since this was called before. */
  idle(): boolean
  /** Takes no more calls, and ends when its calls are answered. */
  finish(): void
  /** Cancels it at once. */
  abandon(error: ConnectError): void
}

/** The events of a stream. */
export interface StreamEvents {
  /** The service has sent its settings, so that the stream carries calls. */
  opened(settings: PipelineSettings): void
  /** The service asks for the next calls to be made on another stream. */
  draining(): void
  /** Calls have ended. */
  space(): void
  /** The stream has ended. `unsent` calls were never sent; the other calls have failed. No error if it was finished. */
  closed(unsent: PipelinedCall[], error: ConnectError | undefined): void
}

/** The largest message in bytes, unless the service accepts less. A larger call is sent in a message of its own. */
const batchBytes = 64 * 1024
/** The most cancelled calls in one message. */
const batchCancels = 64
/** The time that the service has to end a finished stream without calls, in milliseconds. */
const endMs = 5_000

const path = `/${PipelineService.typeName}/${PipelineService.method.pipeline.name}`
const encode = (request: PipelineRequest) => toBuffer(toBinary(PipelineRequestSchema, request))
const decode = (bytes: Buffer) => fromBinary(PipelineResponseSchema, bytes)

/** @param settings - The settings of an earlier stream to the same endpoint. Calls are then sent without waiting for new ones. */
export function openPipelineStream(
  client: Client,
  metadata: Metadata,
  settings: PipelineSettings | undefined,
  events: StreamEvents,
): PipelineStream {
  const stream = client.makeBidiStreamRequest(path, encode, decode, metadata)
  const active = new Map<number, Slot>()
  const unsent = new Set<Slot>()
  const cancelledIds: number[] = []
  let lastId = 0
  let scheduled = false
  let blocked = false
  let finishing = false
  let halfClosed = false
  let ended = false
  let used = true
  let endTimer: NodeJS.Timeout | undefined

  function schedule(): void {
    if (scheduled || blocked || halfClosed || ended) return
    scheduled = true
    // Runs after all callers that were answered by one message, so that their next calls share a message.
    process.nextTick(flush)
  }

  function flush(): void {
    scheduled = false
    while (!ended && !halfClosed && !blocked && (unsent.size > 0 || cancelledIds.length > 0)) {
      blocked = !stream.write(nextBatch())
    }
    if (ended || halfClosed || !finishing || unsent.size > 0) return
    halfClosed = true
    stream.end()
    awaitEnd()
  }

  /** Cancels a finished stream that the service does not end. On a dead connection it would keep the process alive. */
  function awaitEnd(): void {
    if (!halfClosed || ended || active.size > 0) return
    endTimer ??= setTimeout(() => stream.cancel(), endMs).unref()
  }

  function nextBatch(): PipelineRequest {
    const calls: PipelineCall[] = []
    const cancelled = cancelledIds.splice(0, batchCancels)
    const most = Math.min(batchBytes, settings?.maxMessageBytes ?? 0)
    let bytes = 0
    for (const slot of unsent) {
      const { call } = slot
      if (call === undefined) continue
      // Cancellations are sent before further calls, because the service counts a call until it is cancelled.
      if (cancelledIds.length > 0) break
      bytes += call.size + call.method.length + 32
      if (calls.length > 0 && bytes > most) break
      unsent.delete(slot)
      do lastId = (lastId + 1) >>> 0
      while (active.has(lastId))
      call.id = lastId
      active.set(lastId, slot)
      const { id, method, message, timeoutMs, header } = call
      calls.push({
        $typeName: "authwire.v1.PipelineCall",
        id,
        method,
        message,
        header,
        ...(timeoutMs && { timeoutMs }),
      })
    }
    return { $typeName: "authwire.v1.PipelineRequest", calls, cancelledIds: cancelled }
  }

  function receive(response: PipelineResponse): void {
    if (ended) return
    if (response.settings !== undefined) {
      settings = response.settings
      events.opened(settings)
    }
    for (const { id, outcome } of response.answers) {
      const call = active.get(id)?.call
      if (call === undefined) continue
      active.delete(id)
      call.owner = undefined
      if (outcome.case === "message") call.answer(outcome.value)
      else if (outcome.case === "error") {
        const { code, message } = outcome.value
        const error = new ConnectError(message, code)
        error.isWireError = true
        error.details = detailsOf(outcome.value)
        call.fail(error)
      } else call.fail(new ConnectError("the response has no message", Code.Internal))
    }
    if (response.draining) events.draining()
    if (response.answers.length > 0) events.space()
    awaitEnd()
  }

  function close(error: ConnectError | undefined): void {
    if (ended) return
    ended = true
    clearTimeout(endTimer)
    const left = [...unsent].flatMap(({ call }) => call ?? [])
    unsent.clear()
    for (const { call } of active.values()) {
      if (call === undefined) continue
      call.owner = undefined
      call.fail(lostCall(error))
    }
    active.clear()
    for (const call of left) call.owner = undefined
    events.closed(left, error)
  }

  stream.on("data", receive)
  stream.on("drain", () => {
    blocked = false
    schedule()
  })
  // The status event has the same information.
  stream.on("error", () => {})
  stream.on("status", (end: StatusObject) => close(toStreamError(end, active.size > 0)))

  return {
    get hasSpace() {
      return settings !== undefined && this.isOpen && active.size + unsent.size < settings.maxInFlight
    },
    get isOpen() {
      return settings !== undefined && !finishing && !ended
    },
    get load() {
      return active.size + unsent.size
    },
    send(call) {
      if (call.size > (settings?.maxMessageBytes ?? 0)) return false
      call.owner = this
      used = true
      unsent.add(call.slot)
      schedule()
      return true
    },
    drop(call) {
      if (!unsent.delete(call.slot)) {
        if (!active.delete(call.id)) return
        cancelledIds.push(call.id)
        schedule()
        awaitEnd()
      }
      events.space()
    },
    idle() {
      const idle = !used && active.size + unsent.size === 0
      used = false
      return idle
    },
    finish() {
      finishing = true
      if (!blocked) flush()
    },
    abandon(error) {
      stream.cancel()
      close(error)
    },
  }
}

/** Returns the error of a stream that ended; undefined for a regular end that lost no calls. */
function toStreamError(end: StatusObject, losesCalls: boolean): ConnectError | undefined {
  if (end.code !== status.OK) return toConnectError(Object.assign(new Error(end.details), end))
  return losesCalls ? new ConnectError("the service ended the stream", Code.Unavailable) : undefined
}

/** Creates the error of a call whose stream failed. Whether the call was carried out is unknown. */
function lostCall(cause: ConnectError | undefined): ConnectError {
  const rejected = cause?.code === Code.Unauthenticated || cause?.code === Code.PermissionDenied
  const error = new ConnectError(cause?.rawMessage ?? "the stream ended", rejected ? cause.code : Code.Unavailable)
  error.isWireError = true
  error.details = cause?.details ?? []
  return error
}
