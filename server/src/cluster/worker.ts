import cluster from "node:cluster"
import { openConfiguredDatabase, storeOf } from "../bootstrap/database.js"
import { openInstruments } from "../bootstrap/instruments.js"
import { runServer } from "../bootstrap/server.js"
import { StartError } from "../errors/start-error.js"
import { readinessSwitch } from "../health/readiness.js"
import { exitAfterPendingLines } from "../logging/exit-after-pending-lines.js"
import { createLog } from "../logging/logger.js"
import type { ToPrimary, ToWorker } from "./messages.js"

/**
 * Runs one of several serving processes. It serves as the primary says (see `serveWithWorkers`), and resolves once it
 * has disconnected from the primary. If the primary dies, the worker finishes its active calls and ends.
 */
export async function worker(): Promise<void> {
  // A signal to the whole process group, as from Ctrl-C, also reaches the primary, which tells the workers when to
  // stop.
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => {})
  const readiness = readinessSwitch()
  const started = Promise.withResolvers<ToWorker & { type: "start" }>()
  const stopped = Promise.withResolvers<"drain" | "primary gone">()
  let sendMetrics = (_id: number): void => {}
  let phase: "starting" | "serving" | "stopping" | "ended" = "starting"

  process.on("message", (message: ToWorker) => {
    switch (message.type) {
      case "start":
        readiness.set(message.ready)
        started.resolve(message)
        break
      case "readiness":
        readiness.set(message.ready)
        break
      case "ping":
        tell({ type: "pong" })
        break
      case "metrics":
        sendMetrics(message.id)
        break
      case "stop":
        phase = "stopping"
        readiness.stop()
        tell({ type: "stopping" })
        break
      case "drain":
        stopped.resolve("drain")
    }
  })
  cluster.worker?.once("disconnect", () => {
    // By default Node ends a worker at once when it loses its primary.
    if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
    if (phase === "serving") stopped.resolve("primary gone")
    // Either no call is active yet, or the primary was killed during the shutdown, which means that the worker should
    // end now.
    else if (phase !== "ended") process.exit(1)
  })

  const { configuration, worker: number } = await started.promise
  const log = createLog(configuration, number)
  const instruments = await openInstruments(configuration, { log, worker: number })
  const { metrics } = instruments
  sendMetrics = (id) => {
    metrics
      ?.values()
      .then((values) => tell({ type: "metrics", id, values }))
      .catch((err: unknown) => log.error({ err }, "metrics could not be read"))
  }
  try {
    // The primary exposes the metrics of all workers, and waits itself before it tells the workers to drain.
    const own = { ...configuration, metricsAddr: undefined, drainDelayMs: 0 }
    await runServer(own, {
      instruments,
      // The primary has applied or checked the migrations.
      store: storeOf(await openConfiguredDatabase(configuration, log, instruments), configuration),
      log,
      readiness,
      onDatabase: (answers) => {
        tell({ type: "database", answers })
      },
      onListening: (addresses) => {
        if (phase === "starting") phase = "serving"
        tell({ type: "listening", addresses })
      },
      stopped: stopped.promise.then((why) => {
        if (why === "primary gone")
          log.error("the primary process has exited: finishing the active calls, then exiting")
      }),
    })
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    process.exitCode = 1
    await tell({ type: "failed", message: error.message })
  }
  phase = "ended"
  if (process.connected) process.disconnect()
  exitAfterPendingLines()
}

/** Sends a message to the primary. Resolves once it is sent, or cannot be sent because the primary has ended. */
function tell(message: ToPrimary): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => resolve())
    else resolve()
  })
}
