import { setTimeout as delay } from "node:timers/promises"
import { sendAlone, sendBatch, type Target } from "./batch.ts"
import type { Findings } from "./findings.ts"
import { watchHealth } from "./health-watch.ts"
import { heapGrowth } from "./heap-growth.ts"
import { hostileInputs } from "./hostile.ts"
import type { Input, NamedInput } from "./inputs.ts"
import type { Outcome } from "./outcome.ts"
import { makeAnchor, probe } from "./probe.ts"
import { openCallSender } from "./send/call.ts"
import { openPipelineStream } from "./send/pipeline.ts"
import { type ServerProcess, startServer } from "./server-process.ts"
import { judge } from "./verdict.ts"

export interface RunOptions {
  seed: number
  /** The minimum number of inputs. */
  inputs: number
  findings: Findings
  say: (text: string) => void
  /** Modules that the server loads first. */
  imports: readonly string[]
  /** The part of the hostile inputs that is sent: every `parts`-th, starting with the `part`-th. Undefined: none. */
  hostile: { part: number; parts: number } | undefined
}

const mebibyte = 1024 * 1024

/** The limits for one hostile input: additional memory in bytes, and time in milliseconds. */
const hostileBytes = 1024 * mebibyte
const hostileMs = 15_000
/** The maximum time of a health check while a batch is sent, in milliseconds. */
const maxHealthMs = 3_000
/**
 * The number of connections that the senders keep for the next batch, and how long others may stay open in
 * milliseconds.
 */
const keptConnections = 40
const leavingMs = 10_000
/** The maximum memory of the server, in bytes. */
const peakBytes = 1536 * mebibyte

/** Runs batches until the number of inputs is reached. After each batch, checks whether the server is well. */
export async function run(options: RunOptions): Promise<void> {
  const { seed, inputs, findings, say, imports } = options
  const begun = performance.now()
  const labels = new Map<string, number>()
  const heaps: number[] = []
  const { part = 0, parts = 1 } = options.hostile ?? {}
  const hostile = options.hostile ? hostileInputs().filter((_, index) => index % parts === part - 1) : []
  let sent = 0
  let peak = 0
  let slowest = 0
  let stage = await openStage(findings, imports, (label, weight) => {
    labels.set(label, (labels.get(label) ?? 0) + weight)
    sent += label === "unsent" ? 0 : weight
  })
  const every = Math.max(1, Math.floor(inputs / 3300 / 45))
  const heedPeak = () => {
    peak = Math.max(peak, stage.server.memory().peak)
  }

  for (let batch = 0; sent < inputs; batch++) {
    const health = watchHealth(stage.server.ports)
    await sendBatch(stage.target, (seed * 1_000_003 + batch) | 0)
    const check = await health.stop()
    slowest = Math.max(slowest, check.ms)
    const again = hostile[(batch / 5) % hostile.length]
    if (batch === 0) await sendHostile(hostile)
    else if (again !== undefined) await stage.send(again.input)
    const unwell = stage.server.crashed.aborted
      ? "the server ended"
      : ((await probe(stage.target.calls)) ?? (await leftOver(stage.server)))
    if (unwell === undefined && check.failure !== undefined) findings.add(`a check of health: ${check.failure}`, [])
    else if (unwell === undefined && check.ms > maxHealthMs)
      findings.add(`the slowest answer of health took ${Math.round(check.ms)} ms`, [])
    if (unwell !== undefined) {
      findings.add(unwell, stage.suspects(), stage.server.tail())
      await stage.close()
      stage = await stage.again()
      heaps.length = 0
      continue
    }
    heedPeak()
    if (batch % every === 0) heaps.push(await stage.server.heapBytes())
    if (batch % (every * 5) === 0)
      say(`${sent} inputs, ${seconds()} s, heap ${mb(heaps.at(-1) ?? 0)} MB, peak ${mb(peak)} MB`)
  }
  heedPeak()
  await stage.close()

  const growth = heapGrowth(heaps)
  for (const [label, count] of [...labels].sort((one, other) => other[1] - one[1]))
    say(`${String(count).padStart(9)}  ${label}`)
  say(`${sent} inputs in ${seconds()} s; seed ${seed}`)
  say(
    `heap after collection: ${mb(growth.first)} MB in the first third, ${mb(growth.last)} MB in the last (${heaps.length} samples)`,
  )
  say(`peak of resident memory: ${mb(peak)} MB; slowest answer of health: ${Math.round(slowest)} ms`)
  if (growth.grows) findings.add(`the heap grows: ${mb(growth.first)} MB, then ${mb(growth.last)} MB`, [])
  if (peak > peakBytes) findings.add(`the server took ${mb(peak)} MB`, [])

  async function sendHostile(all: readonly NamedInput[]) {
    let most = { name: "", bytes: 0 }
    for (const { name, input } of all) {
      if (stage.server.crashed.aborted) return
      heedPeak()
      await stage.server.heapBytes()
      stage.server.resetPeak()
      const before = stage.server.memory().rss
      const start = performance.now()
      await stage.send(input)
      const took = performance.now() - start
      if (stage.server.crashed.aborted) return
      const bytes = stage.server.memory().peak - before
      if (bytes > most.bytes) most = { name, bytes }
      if (bytes > hostileBytes) findings.add(`${name}: took ${mb(bytes)} MB`, [input])
      if (took > hostileMs) findings.add(`${name}: took ${Math.round(took)} ms`, [input])
      if (process.env.AUTHWIRE_FUZZ_VERBOSE) say(`${name}: ${Math.round(took)} ms, ${mb(bytes)} MB`)
    }
    say(`${all.length} hostile inputs (part ${part} of ${parts}); the dearest took ${mb(most.bytes)} MB (${most.name})`)
  }

  function seconds() {
    return Math.round((performance.now() - begun) / 1000)
  }
}

/** Describes the streams and connections that stay on the server after the senders of a batch have disconnected. */
async function leftOver(server: ServerProcess): Promise<string | undefined> {
  const end = performance.now() + leavingMs
  for (;;) {
    const { streams, connections } = await server.open()
    if (streams === 0 && connections <= keptConnections) return undefined
    if (performance.now() > end) return `${streams} streams and ${connections} connections stay`
    await delay(50)
  }
}

/** Sends the inputs of a finding one after the other. */
export async function replay({
  inputs,
  findings,
  say,
  imports,
}: Omit<RunOptions, "seed" | "inputs" | "hostile"> & { inputs: readonly Input[] }): Promise<void> {
  const stage = await openStage(findings, imports, say)
  for (const input of inputs) {
    await stage.send(input)
    await delay(50)
    const unwell = stage.server.crashed.aborted ? "the server ended" : await probe(stage.target.calls)
    if (unwell === undefined) continue
    findings.add(unwell, [input], stage.server.tail())
    break
  }
  await stage.close()
}

interface Stage {
  server: ServerProcess
  target: Target
  send(input: Input): Promise<void>
  /** The active inputs, and the last ones that have ended. */
  suspects(): Input[]
  close(): Promise<void>
  /** Opens a new stage after this one was closed. */
  again(): Promise<Stage>
}

async function openStage(
  findings: Findings,
  imports: readonly string[],
  onLabel: (label: string, weight: number) => void,
): Promise<Stage> {
  const active = new Set<Input>()
  const recent: Input[] = []
  let atCrash: Input[] | undefined
  const suspects = () => atCrash ?? [...recent, ...active]
  const server = await startServer(
    (what, line) => findings.add(what, suspects(), `  ${line.slice(0, 3000)}\n`),
    imports,
  )
  server.crashed.addEventListener("abort", () => {
    atCrash = [...recent, ...active]
  })
  const calls = openCallSender(server.ports)
  const target: Target = {
    ports: server.ports,
    crashed: server.crashed,
    calls,
    sent: (input) => void active.add(input),
    done(input, { label, finding }) {
      active.delete(input)
      recent.push(input)
      if (recent.length > 40) recent.shift()
      // Each call of a frame counts, because the server reads it as a separate request.
      onLabel(label, input.kind === "frame" ? (input.ids?.length ?? 1) : 1)
      // If the server has exited, the outcome says nothing about this input.
      if (finding !== undefined && !server.crashed.aborted) findings.add(finding, [input])
    },
  }
  await makeAnchor(calls)
  return {
    server,
    target,
    async send(input) {
      target.sent(input)
      target.done(input, judge(await sendOne(input)))
    },
    suspects,
    async close() {
      calls.close()
      await server.stop()
    },
    again: () => openStage(findings, imports, onLabel),
  }

  async function sendOne(input: Input) {
    if (input.kind !== "frame") return await sendAlone(target, input)
    const stream = await openPipelineStream(server.ports, "grpc", () => {})
    stream.write(input)
    stream.finish()
    return await stream.until(new Promise<Outcome>(() => {}))
  }
}

const mb = (bytes: number) => Math.round(bytes / mebibyte)
