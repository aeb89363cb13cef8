import cluster, { type Worker } from "node:cluster"
import { fileURLToPath } from "node:url"
import type { ToPrimary, ToWorker } from "./messages.js"

/** The primary's handle of a worker process. */
export interface WorkerProcess {
  /** The process id. Undefined if the process could not be started. */
  readonly pid: number | undefined
  /** Sends a message. Does nothing once the process has ended. */
  send(message: ToWorker): void
  /** Kills the process with SIGKILL. */
  kill(): void
  /** Resolves when the process has ended. */
  readonly ended: Promise<WorkerEnd>
}

export interface WorkerEnd {
  code: number | null
  signal: string | null
  /** The error that prevented the process from starting. */
  error?: Error
}

/**
 * Starts a process that runs `worker()`. Node's cluster distributes connections round-robin among the listening
 * workers. If a worker is killed, Node forgets the connection in transit to it, at most one per listener: the client
 * gets no answer on it until its own timeout.
 */
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
  worker.on("message", onMessage)
  const ended = new Promise<WorkerEnd>((resolve) => {
    worker.once("exit", (code: number | null, signal: string | null) => resolve({ code, signal }))
    // Also emitted when a message could not be sent to a dying worker. Its "exit" event follows in that case.
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
