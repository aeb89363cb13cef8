import { PipelineRequestSchema } from "@authwire/proto"
import { create, toBinary } from "@bufbuild/protobuf"
import { randomCall } from "./generate/calls.ts"
import { randomConnection } from "./generate/connections.ts"
import { brokenFrame, randomFrame } from "./generate/frames.ts"
import { randomRaw } from "./generate/raw.ts"
import type { CallInput, ConnectionInput, FrameInput, Input, ListenerName, RawInput } from "./inputs.ts"
import type { Outcome } from "./outcome.ts"
import { randomOf } from "./random.ts"
import type { CallSender } from "./send/call.ts"
import { sendConnection } from "./send/connection.ts"
import { openPipelineStream, type PipelineStream } from "./send/pipeline.ts"
import { sendRaw } from "./send/raw.ts"
import type { Ports } from "./server-process.ts"
import { judge, judgeError, wireError } from "./verdict.ts"

/** The target of a batch, with the callbacks for its progress. */
export interface Target {
  ports: Ports
  calls: CallSender
  /** Aborts when the server exits unexpectedly. Nothing more needs to be sent then. */
  crashed: AbortSignal
  /** Called when an input is sent. */
  sent(input: Input): void
  /** Called when an input has ended. */
  done(input: Input, verdict: { label: string; finding?: string }): void
}

/** The number of inputs of each kind in a batch, and the number that are sent concurrently. */
const counts = { call: 400, raw: 160, connection: 160, frames: 1440 }
const lanes = { call: 24, raw: 16, connection: 16, frames: 12 }

const makers = { call: randomCall, raw: randomRaw, connection: randomConnection }

/** Sends a batch, which is determined by its seed. Resolves when every input has ended. */
export async function sendBatch(target: Target, seed: number): Promise<void> {
  const random = randomOf(seed)
  const lane = async (count: number, kind: keyof typeof makers) => {
    for (let left = count; left > 0 && !target.crashed.aborted; left--) {
      const input = makers[kind](random)
      target.sent(input)
      target.done(input, judge(await sendAlone(target, input)))
    }
  }
  const many = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, index) => make(index))
  await Promise.all([
    ...many(lanes.call, () => lane(Math.ceil(counts.call / lanes.call), "call")),
    ...many(lanes.raw, () => lane(Math.ceil(counts.raw / lanes.raw), "raw")),
    ...many(lanes.connection, () => lane(Math.ceil(counts.connection / lanes.connection), "connection")),
    ...many(lanes.frames, (index) =>
      sendFrames(
        target,
        seed * lanes.frames + index,
        index % 3 === 2 ? "http" : "grpc",
        Math.ceil(counts.frames / lanes.frames),
      ),
    ),
  ])
}

/** Sends an input that does not depend on others. */
export function sendAlone(
  { calls, ports }: Pick<Target, "calls" | "ports">,
  input: CallInput | RawInput | ConnectionInput,
): Promise<Outcome> {
  if (input.kind === "call") return calls.send(input)
  return input.kind === "raw" ? sendRaw(input, ports) : sendConnection(input, ports)
}

/** Returns a call that is answered after all earlier frames were read. */
function sentinel(id: number): FrameInput {
  const calls = [{ id, method: "authwire.v1.IntrospectionService/Introspect" }]
  return {
    kind: "frame",
    bytes: Buffer.from(toBinary(PipelineRequestSchema, create(PipelineRequestSchema, { calls }))),
    ids: [id],
  }
}

// Sends groups of frames whose calls must all be answered. After a group it may send a frame that ends the stream.
async function sendFrames(target: Target, seed: number, transport: ListenerName, count: number): Promise<void> {
  const random = randomOf(seed)
  const waiting = new Map<number, () => void>()
  let problem: string | undefined
  let nextId = 1_000_000
  const open = () =>
    openPipelineStream(target.ports, transport, ({ id, outcome }) => {
      if (outcome.case === "error") problem ??= judgeError(wireError(outcome.value)).finding
      const answered = waiting.get(id)
      waiting.delete(id)
      if (answered) answered()
      else if (id >= 1_000_000 && id < nextId) problem ??= "a call of a pipeline is answered twice"
    })
  let stream = await open()

  /** Sends frames, and waits until each of their calls is answered. If the stream ends before, returns how it ended. */
  const exchange = async (stream: PipelineStream, frames: readonly FrameInput[]): Promise<Outcome | undefined> => {
    const ids = frames.flatMap((frame) => frame.ids ?? [])
    const answered = Promise.all(ids.map((id) => new Promise<void>((resolve) => waiting.set(id, resolve)))).then(
      () => undefined,
    )
    for (const frame of frames) {
      target.sent(frame)
      stream.write(frame)
    }
    return await stream.until(answered)
  }
  const told = (frames: readonly FrameInput[], ended: Outcome | undefined, mayEnd: boolean) => {
    const verdict = ended === undefined ? { label: "answered" } : judge(ended)
    if (ended !== undefined && !mayEnd) verdict.finding ??= `a stream ended that kept the rules: ${verdict.label}`
    const finding = verdict.finding ?? problem
    problem = undefined
    for (const frame of frames) target.done(frame, { label: `frame ${verdict.label}`, ...(finding ? { finding } : {}) })
  }

  for (let left = count; left > 0 && !target.crashed.aborted; ) {
    const group = Array.from({ length: Math.min(left, 1 + random.below(8)) }, () => {
      const frame = randomFrame(random, nextId)
      nextId += frame.ids?.length ?? 0
      return frame
    })
    left -= group.length
    let ended = await exchange(stream, group)
    told(group, ended, false)
    if (ended === undefined && random.chance(0.7)) {
      const broken = brokenFrame(random)
      left--
      ended = await exchange(stream, [broken, sentinel(nextId++)])
      told([broken], ended, true)
    }
    if (ended !== undefined) {
      waiting.clear()
      stream.cancel()
      stream = await open()
    }
  }
  stream.finish()
  const ended = judge(await stream.until(new Promise<Outcome>(() => {})))
  if (ended.finding)
    target.done(sentinel(0), { label: "stream", finding: `at its end a pipeline says: ${ended.finding}` })
}
