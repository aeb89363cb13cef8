import { UserService } from "@authwire/proto"
import { Code, ConnectError } from "@connectrpc/connect"
import { PipelinedCall } from "../src/pipeline/call.js"
import type { Member, MemberEvents } from "../src/pipeline/member.js"
import type { PipelineStream } from "../src/pipeline/stream.js"

/** A stream that keeps what it gets. */
export class FakeStream implements PipelineStream {
  calls: string[] = []
  settled = false
  finished = false
  maxMessageBytes = 1_000
  space = Number.POSITIVE_INFINITY
  get isOpen() {
    return this.settled && !this.finished
  }
  get hasSpace() {
    return this.isOpen && this.calls.length < this.space
  }
  get load() {
    return this.calls.length
  }
  send(call: PipelinedCall) {
    if (call.size > this.maxMessageBytes) return false
    call.owner = this
    this.calls.push(idOf(call))
    return true
  }
  drop(call: PipelinedCall) {
    this.calls = this.calls.filter((one) => one !== idOf(call))
  }
  idle = () => this.calls.length === 0
  finish() {
    this.finished = true
  }
  abandon() {}
}

/** A member of the pool that behaves as the test sets it. */
export class FakeMember implements Member {
  stream: FakeStream | undefined
  draining: FakeStream | undefined
  isIdle = false
  rejectsPipeline = false
  error: ConnectError | undefined
  mayOpen = true
  hurries = 0
  renewals = 0
  closed = false
  readonly events: MemberEvents
  constructor(events: MemberEvents) {
    this.events = events
  }
  open() {
    this.isIdle = false
    if (this.mayOpen) this.stream ??= new FakeStream()
  }
  openNow() {
    this.hurries++
  }
  endIfIdle() {}
  endDraining() {
    this.draining?.finish()
    this.draining = undefined
  }
  reconnect() {
    this.renewals++
    this.stream = undefined
  }
  close() {
    this.closed = true
  }
  /** The service carries the stream. */
  settle(space = Number.POSITIVE_INFINITY): FakeStream {
    const stream = this.stream as FakeStream
    stream.settled = true
    stream.space = space
    this.events.changed([])
    return stream
  }
  /** The service asks to be left. */
  drain(): FakeStream {
    const stream = this.stream as FakeStream
    this.draining = stream
    this.stream = undefined
    this.events.draining()
    this.events.changed([])
    return stream
  }
  fail(code = Code.Unavailable, unsent: PipelinedCall[] = []) {
    this.stream = undefined
    this.mayOpen = false
    this.rejectsPipeline = code !== Code.Unavailable
    this.error = new ConnectError("it failed", code)
    this.events.changed(unsent)
    this.events.failed()
  }
}

const ids = new WeakMap<PipelinedCall, string>()
export const idOf = (call: PipelinedCall) => ids.get(call) as string

export function makeCall(id: string, signal?: AbortSignal): PipelinedCall {
  const method = UserService.method.getUser
  const call = new PipelinedCall({
    method,
    input: { id },
    header: {},
    timeoutMs: undefined,
    signal,
  })
  ids.set(call, id)
  return call
}
