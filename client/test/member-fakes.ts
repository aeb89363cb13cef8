import { EventEmitter } from "node:events"
import { PipelineResponseSchema } from "@authwire/proto"
import { create } from "@bufbuild/protobuf"
import { ConnectError } from "@connectrpc/connect"
import { connectivityState, Metadata, type status } from "@grpc/grpc-js"
import type { PipelinedCall } from "../src/pipeline/call.js"
import { createMember } from "../src/pipeline/member.js"
import type { CheckedClient } from "../src/transport/checked-client.js"

/** The simulated wire of one stream. */
class Wire extends EventEmitter {
  isEnded = false
  isCancelled = false
  write = () => true
  end() {
    this.isEnded = true
  }
  cancel() {
    this.isCancelled = true
  }
  settle() {
    this.#answer({ settings: { maxInFlight: 10, maxMessageBytes: 1_000 } })
  }
  askToLeave() {
    this.#answer({ draining: true })
  }
  finish(code: status, details = "") {
    this.emit("status", { code, details, metadata: new Metadata() })
  }
  #answer(response: Parameters<typeof create<typeof PipelineResponseSchema>>[1]) {
    this.emit("data", create(PipelineResponseSchema, response))
  }
}

/** A simulated channel. It is connected at first. */
class Channel {
  state = connectivityState.READY
  isClosed = false
  checks = 0
  /** Reports that the connection does not answer any more. */
  die = () => {}
  readonly wires: Wire[] = []
  readonly watchers: (() => void)[] = []
  getConnectivityState = () => this.state
  watchConnectivityState = (_state: connectivityState, _deadline: number, watcher: () => void) => {
    this.watchers.push(watcher)
  }
  leave(state: connectivityState) {
    this.state = state
    for (const watcher of this.watchers.splice(0)) watcher()
  }
  readonly client = {
    getChannel: () => this,
    check: () => void this.checks++,
    close: () => {
      this.isClosed = true
    },
    makeBidiStreamRequest: () => {
      const wire = new Wire()
      this.wires.push(wire)
      return wire
    },
  } as unknown as CheckedClient
}

/** A member with a simulated clock and simulated channels. */
export function setUpMember({ random = 0, state = connectivityState.READY } = {}) {
  const clock = { ms: 1_000 }
  const channels: Channel[] = []
  const seen: string[] = []
  const unsent: PipelinedCall[] = []
  const member = createMember({
    connect(dead) {
      const channel = new Channel()
      channel.die = dead
      channel.state = state
      channels.push(channel)
      return channel.client
    },
    explain: (error) => new ConnectError(`explained: ${error.rawMessage}`, error.code),
    metadata: new Metadata(),
    events: {
      changed(calls) {
        unsent.push(...calls)
        seen.push("changed")
      },
      space: () => seen.push("space"),
      draining: () => seen.push("draining"),
      failed: () => seen.push("failed"),
    },
    now: () => clock.ms,
    random: () => random,
  })
  const wires = () => channels.flatMap((channel) => channel.wires)
  const wire = () => wires().at(-1) as Wire
  const channel = () => channels.at(-1) as Channel
  /** Opens a stream that carries calls. */
  const openStream = () => {
    member.open()
    wire().settle()
    return wire()
  }
  /** Returns after how many milliseconds, in steps of one, the member tries again. */
  const pause = () => {
    const before = wires().length
    const since = clock.ms
    while (clock.ms - since < 120_000) {
      member.open()
      if (wires().length > before) return clock.ms - since
      clock.ms++
    }
    return Number.POSITIVE_INFINITY
  }
  return { member, clock, channels, channel, wires, wire, seen, unsent, openStream, pause }
}
