import { Code, ConnectError } from "@connectrpc/connect"
import { watchSuspension } from "../transport/suspension.js"
import type { Holder, PipelinedCall, Slot } from "./call.js"
import type { Endpoint } from "./endpoints.js"
import type { Member, MemberEvents } from "./member.js"
import type { PipelineStream } from "./stream.js"

/** Spreads calls over the streams to all endpoints that serve. */
export interface PipelinePool {
  send(call: PipelinedCall): void
  /** Whether it has neither a stream nor a call that waits for one. */
  readonly isIdle: boolean
  /** Lets the active calls end, and takes no more. */
  close(): void
}

export interface PoolOptions {
  /** Finds the endpoints. Asked at the first call and, at most every `relookMs`, after failures and as time goes by. */
  endpoints: () => Promise<readonly Endpoint[]>
  /** How many streams to each endpoint. */
  connections: number
  member: (endpoint: Endpoint, events: MemberEvents) => Member
  /** Takes the calls that no pipeline carries. */
  fallback: (call: PipelinedCall) => void
  now: () => number
  /** The time of day, in milliseconds: it tells that the process was suspended. */
  wallClock: () => number
}

/** How often endpoints are looked up, at the most and without cause, in milliseconds. */
const relookMs = 1_000
const lookMs = 30_000
/** How many calls that are made together go to one stream: the service answers lookups that come together by one statement. */
const together = 16
/** A stream without calls for so long, twice at the most, ends, and does not keep the process alive. In milliseconds. */
const restMs = 500

export function createPipelinePool(options: PoolOptions): PipelinePool {
  const { endpoints, connections, member, fallback, now, wallClock } = options
  const membersOf = new Map<string, Member[]>()
  let members: Member[] = []
  let lookedAt = Number.NEGATIVE_INFINITY
  let looking = false
  let lookError: ConnectError | undefined
  let turn = 0
  let sweep: NodeJS.Timeout | undefined
  let closed = false
  /** Where the calls of this turn of the event loop go, and how many more. */
  let group: { readonly stream: PipelineStream; left: number } | undefined

  const waiting = new Set<Slot>()
  const queue: Holder = { drop: (call) => void waiting.delete(call.slot) }

  function look(ageMs: number): void {
    if (looking || closed || now() - lookedAt < ageMs) return
    looking = true
    endpoints()
      .then(settle, (cause: Error) => {
        lookError = new ConnectError(cause.message, Code.Unavailable, undefined, undefined, cause)
      })
      .finally(() => {
        looking = false
        lookedAt = now()
        retry([])
      })
  }

  function settle(found: readonly Endpoint[]): void {
    lookError = found.length > 0 ? undefined : new ConnectError("the name has no address", Code.Unavailable)
    // A name that has lost all its addresses is a mistake of the moment.
    if (closed || found.length === 0) return
    const targets = new Set(found.map(({ target }) => target))
    for (const [target, gone] of membersOf) {
      if (targets.has(target)) continue
      membersOf.delete(target)
      for (const one of gone) one.close()
    }
    for (const endpoint of found) {
      if (membersOf.has(endpoint.target)) continue
      const events: MemberEvents = { changed: retry, space: placeWaiting, leaving: hurry, failed: () => look(relookMs) }
      membersOf.set(
        endpoint.target,
        Array.from({ length: connections }, () => member(endpoint, events)),
      )
    }
    members = [...membersOf.values()].flat()
  }

  /** A stream that has space: for calls that are made together, the same. */
  function pick(): PipelineStream | undefined {
    if (group !== undefined && group.left > 0 && group.stream.hasSpace) {
      group.left--
      return group.stream
    }
    const stream = pickLeastLoaded()
    if (members.length > 1 && stream?.hasSpace) {
      if (group === undefined) process.nextTick(endGroup)
      group = { stream, left: together - 1 }
    }
    return stream
  }

  function endGroup(): void {
    group = undefined
  }

  /** The stream that has the fewest calls; those that rest count as without any. */
  function pickLeastLoaded(): PipelineStream | undefined {
    sweep ??= setInterval(rest, restMs).unref()
    let best: Member | undefined
    let leastLoad = Number.POSITIVE_INFINITY
    turn = (turn + 1) % Math.max(1, members.length)
    for (let i = 0; i < members.length; i++) {
      const one = members[(turn + i) % members.length] as Member
      if (one.stream === undefined && !one.isResting) one.open()
      const { stream } = one
      const load = one.isResting ? 0 : stream?.hasSpace ? stream.load : Number.POSITIVE_INFINITY
      if (load < leastLoad) {
        best = one
        leastLoad = load
      }
    }
    if (best?.isResting) {
      best.open()
      // It has to hear from the service first: others may serve at once.
      if (best.stream?.hasSpace !== true) return pickLeastLoaded()
    }
    return best?.stream ?? members.find((one) => one.leaving?.hasSpace)?.leaving
  }

  /** Gives a call to whoever can take it now, or fails it; false if it has to wait. */
  function place(call: PipelinedCall): boolean {
    const stream = pick()
    if (stream !== undefined) {
      if (call.size > stream.maxMessageBytes) fallback(call)
      else stream.send(call)
      return true
    }
    if ((looking && members.length === 0) || members.some((one) => one.stream?.isOpen)) return false
    if (members.some((one) => one.rejectsPipeline)) fallback(call)
    else if (members.some((one) => one.stream !== undefined)) return false
    else call.fail(unavailable())
    return true
  }

  function wait(call: PipelinedCall): void {
    call.holder = queue
    waiting.add(call.slot)
  }

  /** Something changed: those who wait may have their turn. */
  function retry(unsent: readonly PipelinedCall[]): void {
    for (const call of unsent) if (!place(call)) wait(call)
    placeWaiting()
    leaveDrained()
  }

  /** In order. */
  function placeWaiting(): void {
    for (const slot of waiting) {
      if (slot.call !== undefined && !place(slot.call)) break
      waiting.delete(slot)
    }
  }

  function unavailable(): ConnectError {
    const error = members.find((one) => one.error !== undefined)?.error ?? lookError
    // A new error for each call: its stack and its details are the caller's.
    return new ConnectError(
      error?.rawMessage ?? "there is no connection",
      error?.code ?? Code.Unavailable,
      undefined,
      undefined,
      error,
    )
  }

  /** A stream that the service asked to leave is left as soon as there is another. */
  function leaveDrained(): void {
    if (!members.some((one) => one.leaving !== undefined)) return
    if (members.some((one) => one.stream?.isOpen)) for (const one of members) one.leave()
  }

  function hurry(): void {
    for (const one of members) one.hurry()
  }

  /** Nobody knows which connections are still there, nor whether the endpoints are the same. */
  const suspension = watchSuspension(() => {
    for (const one of members) one.renew()
    look(relookMs)
  }, wallClock)

  function rest(): void {
    suspension.look()
    for (const one of members) one.rest()
    if (members.some((one) => one.stream !== undefined)) return
    clearInterval(sweep)
    sweep = undefined
  }

  return {
    send(call) {
      suspension.look()
      look(members.length > 0 ? lookMs : relookMs)
      if (!place(call)) wait(call)
    },
    get isIdle() {
      return waiting.size === 0 && members.every((one) => one.stream === undefined && one.leaving === undefined)
    },
    close() {
      closed = true
      suspension.stop()
      clearInterval(sweep)
      for (const { call } of waiting) call?.fail(new ConnectError("the client is closed", Code.FailedPrecondition))
      for (const one of members) one.close()
    },
  }
}
