import { setTimeout as delay } from "node:timers/promises"
import { isDeepStrictEqual } from "node:util"
import type { Logger } from "pino"
import type { Addresses } from "../bootstrap/banner.js"
import type { Configuration } from "../config/configuration.js"
import { StartError } from "../errors/start-error.js"
import { expose, workersMetric } from "../metrics/metrics.js"
import { listenError } from "../transport/listen-error.js"
import type { Listener } from "../transport/listener/listener.js"
import { openMetricsListener } from "../transport/metrics.js"
import { forkWorker, type WorkerEnd, type WorkerProcess } from "./fork.js"
import { type Heartbeat, heartbeat } from "./heartbeat.js"
import type { ToPrimary } from "./messages.js"
import { metricsGatherer } from "./metrics.js"

export interface WorkersOptions {
  log: Logger
  /** Called once, when every listener of every worker is open. */
  onListening: (addresses: Addresses) => void
  stopped: Promise<unknown>
}

interface Worker {
  number: number
  process: WorkerProcess
  heartbeat: Heartbeat
  /** The time when all of the worker's listeners were open, in milliseconds. Undefined until then. */
  listeningSince: number | undefined
  /** Whether its database answers. Undefined until that is known. */
  answers: boolean | undefined
  stopping: boolean
  /** The reason why the worker could not start, from its own message, or why it was killed. */
  failure?: string
}

/**
 * A worker that ends before it has listened for this time has ended early. A worker that has listened longer resets the
 * count of early ends.
 */
const earlyMs = 10_000
const maxDelayMs = 30_000
/** How long workers may take to confirm the stop, and how long they may take to exit after both grace periods. */
const hearMs = 1_000
const closeMs = 5_000

/**
 * Serves in `configuration.workers` processes, as the primary of Node's cluster. The primary holds the ports and
 * distributes the connections round-robin. It does not use the database; migrations and secrets are handled before.
 *
 * Health is shared: all workers report ready while every listening worker reaches its database. A dead worker accepts
 * no connections, so it is no reason to remove the replica from a load balancer. It does not count until its
 * replacement listens and knows the state of its database.
 *
 * A worker that no longer answers the primary, because it is stopped or in an endless loop, is killed, which closes its
 * connections, and replaced.
 *
 * At the start every worker must come up. Otherwise StartError is thrown with the message of the first worker that
 * failed. A worker that ends later is replaced at once, and with an increasing delay if it keeps ending soon after its
 * start.
 *
 * @returns Whether every worker ended successfully.
 */
export async function serveWithWorkers(configuration: Configuration, options: WorkersOptions): Promise<boolean> {
  const { log } = options
  const stopped = options.stopped.then(() => undefined)
  const living = new Map<number, Worker>()
  const vacant = new Set(Array.from({ length: configuration.workers }, (_, index) => index + 1))
  const earlyEnds = new Map<number, number>()
  const timers = new Set<NodeJS.Timeout>()
  const allListening = Promise.withResolvers<Addresses>()
  const startFailed = Promise.withResolvers<never>()
  /** Called when a worker has ended or is stopping. */
  let progress = () => {}
  let phase: "starting" | "serving" | "stopping" = "starting"
  let endedWell = true
  let ready = false
  /** The addresses that workers are told to listen at, and the bound addresses once a worker listens. */
  let wanted: Addresses = { grpc: configuration.grpcAddr, http: configuration.httpAddr }
  let bound: Addresses | undefined

  const gatherer = metricsGatherer()
  let metricsListener: Listener | undefined

  const listening = () => [...living.values()].filter(({ listeningSince }) => listeningSince !== undefined)

  const tellReadiness = (): void => {
    const known = listening().flatMap(({ answers }) => answers ?? [])
    const now = known.length > 0 && !known.includes(false)
    if (now === ready) return
    ready = now
    for (const { process } of living.values()) process.send({ type: "readiness", ready })
  }

  // Node's primary cannot open a port for two workers at once. The first worker opens it alone, and the others join it.
  const fill = (): void => {
    for (const number of vacant) {
      const first = listening().length === 0
      if (phase === "stopping" || (first && living.size > 0)) return
      if (first && bound !== undefined) wanted = bound
      vacant.delete(number)
      start(number)
    }
  }

  const start = (number: number): void => {
    const process = forkWorker((message) => hear(worker, message))
    const worker: Worker = {
      number,
      process,
      heartbeat: heartbeat(
        () => process.send({ type: "ping" }),
        (reason) => {
          worker.failure = reason
          process.kill()
        },
      ),
      listeningSince: undefined,
      answers: undefined,
      stopping: false,
    }
    living.set(number, worker)
    process.send({
      type: "start",
      worker: number,
      configuration: { ...configuration, grpcAddr: wanted.grpc, httpAddr: wanted.http },
      ready,
    })
    process.ended.then((end) => ended(worker, end))
  }

  const hear = (worker: Worker, message: ToPrimary): void => {
    worker.heartbeat.heard()
    switch (message.type) {
      case "database":
        worker.answers = message.answers
        tellReadiness()
        break
      case "listening":
        // With port 0, a worker that starts after all other workers have ended would get a different port than the
        // announced one.
        bound ??= message.addresses
        if (!isDeepStrictEqual(bound, message.addresses)) {
          worker.process.kill()
          break
        }
        worker.listeningSince = performance.now()
        log.info({ worker: worker.number, pid: worker.process.pid }, "a worker is listening")
        tellReadiness()
        if (listening().length === configuration.workers) allListening.resolve(bound)
        fill()
        break
      case "metrics":
        gatherer.hear(message.id, message.values)
        break
      case "failed":
        worker.failure = message.message
        break
      case "stopping":
        worker.stopping = true
        progress()
    }
  }

  const ended = (worker: Worker, { code, signal, error }: WorkerEnd): void => {
    const { number, failure, process, listeningSince } = worker
    worker.heartbeat.stop()
    living.delete(number)
    tellReadiness()
    const facts = { worker: number, pid: process.pid, code, signal, reason: failure ?? error?.message }
    if (phase === "stopping") {
      if (listeningSince !== undefined && code !== 0) {
        endedWell = false
        log.error(facts, "a worker did not exit cleanly")
      }
      progress()
      return
    }
    if (phase === "starting") {
      const how = error?.message ?? (signal === null ? `code ${code}` : `signal ${signal}`)
      startFailed.reject(new StartError(failure ?? `worker ${number} exited during its start (${how})`))
      return
    }
    const isEarly = listeningSince === undefined || performance.now() - listeningSince < earlyMs
    const early = isEarly ? (earlyEnds.get(number) ?? 0) + 1 : 0
    earlyEnds.set(number, early)
    const delayMs = early < 2 ? 0 : Math.min(500 * 2 ** (early - 2), maxDelayMs)
    log.error({ ...facts, replaced_in_ms: delayMs }, "a worker has exited: starting another one")
    const timer = setTimeout(() => {
      timers.delete(timer)
      vacant.add(number)
      fill()
    }, delayMs)
    timers.add(timer)
    // The other workers may have been waiting for this one.
    fill()
  }

  const until = (done: () => boolean) =>
    new Promise<void>((resolve) => {
      progress = () => done() && resolve()
      progress()
    })

  const stop = async (): Promise<void> => {
    const delayMs = phase === "serving" ? configuration.drainDelayMs : 0
    phase = "stopping"
    for (const timer of timers) clearTimeout(timer)
    for (const { process } of living.values()) process.send({ type: "stop" })
    // Workers start rejecting calls only after all of them report not ready. Workers that do not confirm in time are
    // not waited for.
    const heard = setTimeout(() => {
      for (const worker of living.values()) worker.stopping = true
      progress()
    }, hearMs)
    await until(() => [...living.values()].every(({ stopping }) => stopping))
    clearTimeout(heard)
    await delay(delayMs)
    for (const { process } of living.values()) process.send({ type: "drain" })
    // The calls of a worker have the grace period, and after them its refreshes of provider tokens have it once more. A
    // worker that is killed before a refresh ends loses the new refresh token.
    const late = setTimeout(
      () => {
        for (const { process } of living.values()) process.kill()
      },
      2 * configuration.shutdownGraceMs + closeMs,
    )
    await until(() => living.size === 0)
    clearTimeout(late)
  }

  const readMetrics = async (): Promise<string> => {
    const workers = listening()
    const values = await gatherer.ask(workers.map(({ process }) => process))
    return expose([await workersMetric(workers.length), ...values])
  }

  const openMetrics = async (): Promise<Listener | undefined> => {
    const { metricsAddr: address, dev: loopbackNames, maxConnections, handshakeTimeoutMs } = configuration
    if (address === undefined) return undefined
    try {
      return await openMetricsListener({
        ...{ address, loopbackNames, maxConnections, handshakeTimeoutMs, log },
        read: readMetrics,
      })
    } catch (error) {
      throw listenError("--metrics-addr", address, error)
    }
  }

  try {
    metricsListener = await openMetrics()
    fill()
    const addresses = await Promise.race([allListening.promise, startFailed.promise, stopped])
    if (addresses !== undefined) {
      phase = "serving"
      options.onListening({ ...addresses, metrics: metricsListener?.address })
      await stopped
    }
  } finally {
    await stop()
    metricsListener?.stopAccepting()
    await metricsListener?.closed(1_000)
  }
  return endedWell
}
