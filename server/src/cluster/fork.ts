import cluster, { type Worker } from "node:cluster"
import { fileURLToPath } from "node:url"
import type { ToPrimary, ToWorker } from "./messages.js"
import { closeUntaken } from "./untaken-connections.js"

/** A worker's process, as the primary sees it. */
export interface WorkerProcess {
  /** Undefined: it could not be started. */
  readonly pid: number | undefined
  /** Does nothing once the process has ended. */
  send(message: ToWorker): void
  /** Ends it at once. */
  kill(): void
  /** Resolves when the process has ended. */
  readonly ended: Promise<WorkerEnd>
}

export interface WorkerEnd {
  code: number | null
  signal: string | null
  /** Why there was no process at all. */
  error?: Error
}

/** Starts a process that runs `worker()`. Connections are dealt out in turn among those that listen. */
export function forkWorker(onMessage: (message: ToPrimary) => void): WorkerProcess {
  cluster.schedulingPolicy = cluster.SCHED_RR
  cluster.setupPrimary({ exec: fileURLToPath(new URL("../../bin/worker.js", import.meta.url)), args: [] })
  let worker: Worker
  try {
    worker = cluster.fork()
  } catch (error) {
    const end = { code: null, signal: null, error: error as Error }
    return { pid: undefined, send() {}, kill() {}, ended: Promise.resolve(end) }
  }
  closeUntaken(worker)
  worker.on("message", onMessage)
  const ended = new Promise<WorkerEnd>((resolve) => {
    worker.once("exit", (code: number | null, signal: string | null) => resolve({ code, signal }))
    // Beside that, a message that a dying worker could not be given: its end will be seen.
    worker.on("error", (error) => {
      if (worker.process.pid === undefined) resolve({ code: null, signal: null, error })
    })
  })
  return {
    pid: worker.process.pid,
    send(message) {
      if (worker.isConnected()) worker.send(message, () => {})
    },
    kill: () => worker.process.kill("SIGKILL"),
    ended,
  }
}
