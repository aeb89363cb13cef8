import { Code, ConnectError } from "@connectrpc/connect"
import type { FallbackLog } from "../transport/fallback-log.js"
import { watchSuspension } from "../transport/suspension.js"
import type { CallOwner, PipelinedCall, Slot } from "./call.js"
import type { Endpoint } from "./endpoints.js"
import type { Member, MemberEvents } from "./member.js"
import type { PipelineStream } from "./stream.js"

/** Spreads calls over the streams to all available endpoints. */
export interface PipelinePool {
  send(call: PipelinedCall): void
  /** Whether there is neither a stream nor a call that waits for one. */
  readonly isIdle: boolean
  /** Closes the pool. Active calls may still end; later calls fail. */
  close(): void
}

export interface PoolOptions {
  /** Finds the endpoints. Called at the first call, after failures and at intervals, at most every `minRefreshMs`. */
  endpoints: () => Promise<readonly Endpoint[]>
  /** The number of streams to each endpoint. */
  connections: number
  member: (endpoint: Endpoint, events: MemberEvents) => Member
  /** Makes the calls that no pipeline carries. */
  fallback: (call: PipelinedCall) => void
  /** Logs when no pipeline carries calls, and when the endpoints cannot be looked up but are known from before. */
  log: { readonly separateCalls: FallbackLog; readonly knownEndpoints: FallbackLog }
  now: () => number
  /** The time of day, in milliseconds. It reveals that the process was suspended. */
  wallClock: () => number
}

/** The shortest interval between two lookups of the endpoints, and the interval without failures, in milliseconds. */
const minRefreshMs = 1_000
const refreshMs = 30_000
/** The most calls of one turn of the event loop that go to the same stream. The service answers lookups of one message by one statement. */
const groupSize = 16
/** A stream without calls ends after one to two times this long, so that it does not keep the process alive. In milliseconds. */
const idleMs = 500

export function createPipelinePool(options: PoolOptions): PipelinePool {
  const { endpoints, connections, member, fallback, log, now, wallClock } = options
  const membersOf = new Map<string, Member[]>()
  let members: Member[] = []
  let refreshedAt = Number.NEGATIVE_INFINITY
  let refreshing = false
  let resolveError: ConnectError | undefined
  let offset = 0
  let idleTimer: NodeJS.Timeout | undefined
  let closed = false
  /** The stream of the calls of this turn of the event loop, and how many more it takes. */
  let group: { readonly stream: PipelineStream; left: number } | undefined

  const waiting = new Set<Slot>()
  const queue: CallOwner = { drop: (call) => void waiting.delete(call.slot) }

  function refresh(maxAgeMs: number): void {
    if (refreshing || closed || now() - refreshedAt < maxAgeMs) return
    refreshing = true
    endpoints()
      .then(applyEndpoints, (cause: Error) => {
        notFound(new ConnectError(cause.message, Code.Unavailable, undefined, undefined, cause))
      })
      .finally(() => {
        refreshing = false
        refreshedAt = now()
        redispatch([])
      })
  }

  function notFound(error: ConnectError): void {
    resolveError = error
    if (members.length > 0) log.knownEndpoints.used(error)
  }

  function applyEndpoints(found: readonly Endpoint[]): void {
    // A name without any address is taken for a temporary mistake.
    if (found.length === 0) {
      notFound(new ConnectError("the host name resolves to no address", Code.Unavailable))
      return
    }
    resolveError = undefined
    log.knownEndpoints.over()
    if (closed) return
    const targets = new Set(found.map(({ target }) => target))
    for (const [target, gone] of membersOf) {
      if (targets.has(target)) continue
      membersOf.delete(target)
      for (const one of gone) one.close()
    }
    for (const endpoint of found) {
      if (membersOf.has(endpoint.target)) continue
      const events: MemberEvents = {
        changed: redispatch,
        space: dispatchWaiting,
        draining: openNow,
        failed: () => refresh(minRefreshMs),
      }
      membersOf.set(
        endpoint.target,
        Array.from({ length: connections }, () => member(endpoint, events)),
      )
    }
    members = [...membersOf.values()].flat()
  }

  /** Returns a stream that has space; for the calls of one turn the same one. */
  function pick(): PipelineStream | undefined {
    if (group !== undefined && group.left > 0 && group.stream.hasSpace) {
      group.left--
      return group.stream
    }
    const stream = pickLeastLoaded()
    if (members.length > 1 && stream?.hasSpace) {
      if (group === undefined) process.nextTick(endGroup)
      group = { stream, left: groupSize - 1 }
    }
    return stream
  }

  function endGroup(): void {
    group = undefined
  }

  /** Returns the stream with the fewest calls. An idle member counts as one without calls. */
  function pickLeastLoaded(): PipelineStream | undefined {
    idleTimer ??= setInterval(endIdle, idleMs).unref()
    let best: Member | undefined
    let leastLoad = Number.POSITIVE_INFINITY
    offset = (offset + 1) % Math.max(1, members.length)
    for (let i = 0; i < members.length; i++) {
      const one = members[(offset + i) % members.length] as Member
      if (one.stream === undefined && !one.isIdle) one.open()
      const { stream } = one
      const load = one.isIdle ? 0 : stream?.hasSpace ? stream.load : Number.POSITIVE_INFINITY
      if (load < leastLoad) {
        best = one
        leastLoad = load
      }
    }
    if (best?.isIdle) {
      best.open()
      // The stream has to wait for the service's settings. Another one may take the call at once.
      if (best.stream?.hasSpace !== true) return pickLeastLoaded()
    }
    return best?.stream ?? members.find((one) => one.draining?.hasSpace)?.draining
  }

  /** Sends a call over a stream or the fallback, or fails it. Returns false if it has to wait. */
  function dispatch(call: PipelinedCall): boolean {
    const stream = pick()
    if (stream !== undefined) {
      if (!stream.send(call)) fallback(call)
      return true
    }
    if ((refreshing && members.length === 0) || members.some((one) => one.stream?.isOpen)) return false
    const rejecting = members.find((one) => one.rejectsPipeline)
    if (rejecting !== undefined) {
      log.separateCalls.used(rejecting.error)
      fallback(call)
    } else if (members.some((one) => one.stream !== undefined)) return false
    else call.fail(unavailable())
    return true
  }

  function enqueue(call: PipelinedCall): void {
    call.owner = queue
    waiting.add(call.slot)
  }

  /** Dispatches calls again after a change of the members. */
  function redispatch(unsent: readonly PipelinedCall[]): void {
    if (members.some((one) => one.stream?.isOpen)) log.separateCalls.over()
    for (const call of unsent) if (!dispatch(call)) enqueue(call)
    dispatchWaiting()
    leaveDraining()
  }

  /** Dispatches waiting calls, in order. */
  function dispatchWaiting(): void {
    for (const slot of waiting) {
      if (slot.call !== undefined && !dispatch(slot.call)) break
      waiting.delete(slot)
    }
  }

  function unavailable(): ConnectError {
    const error = members.find((one) => one.error !== undefined)?.error ?? resolveError
    // Each call gets a new error, because its caller may change it.
    return new ConnectError(
      error?.rawMessage ?? "there is no connection",
      error?.code ?? Code.Unavailable,
      undefined,
      undefined,
      error,
    )
  }

  /** Leaves the draining streams as soon as there is another stream. */
  function leaveDraining(): void {
    if (!members.some((one) => one.draining !== undefined)) return
    if (members.some((one) => one.stream?.isOpen)) for (const one of members) one.endDraining()
  }

  function openNow(): void {
    for (const one of members) one.openNow()
  }

  /** After a suspension the connections may be dead, and the endpoints may have changed. */
  const suspension = watchSuspension(() => {
    for (const one of members) one.reconnect()
    refresh(minRefreshMs)
  }, wallClock)

  function endIdle(): void {
    suspension.look()
    for (const one of members) one.endIfIdle()
    if (members.some((one) => one.stream !== undefined)) return
    clearInterval(idleTimer)
    idleTimer = undefined
  }

  return {
    send(call) {
      suspension.look()
      refresh(members.length > 0 ? refreshMs : minRefreshMs)
      if (!dispatch(call)) enqueue(call)
    },
    get isIdle() {
      return waiting.size === 0 && members.every((one) => one.stream === undefined && one.draining === undefined)
    },
    close() {
      closed = true
      suspension.stop()
      clearInterval(idleTimer)
      for (const { call } of waiting) call?.fail(new ConnectError("the client is closed", Code.FailedPrecondition))
      for (const one of members) one.close()
    },
  }
}
