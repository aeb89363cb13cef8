import { readFileSync } from "node:fs"
import { UserService } from "@authwire/proto"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@authwire/proto/health"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node"
import { until } from "../until.js"
import type { ServerProcess } from "./server.js"

interface Parsed {
  /** The length of the text of these lines. */
  length: number
  lines: Record<string, unknown>[]
}

/** What was parsed of each log, because tests wait for lines of a log that may have thousands. */
const parsed = new WeakMap<ServerProcess, Parsed>()

/** Parses the lines of the log. Throws if a line is not complete JSON. */
export function logOf(server: ServerProcess): Record<string, unknown>[] {
  const text = server.log()
  const before = parsed.get(server) ?? { length: 0, lines: [] }
  const length = text.lastIndexOf("\n") + 1
  const added = text.slice(before.length, length).split("\n").slice(0, -1)
  const lines = before.lines.concat(
    added.map((line) => {
      try {
        return JSON.parse(line)
      } catch {
        throw new Error(`not a line of the log: ${line}`)
      }
    }),
  )
  parsed.set(server, { length, lines })
  return lines
}

/** The process ids of the workers by worker number. If a worker was restarted, the newest counts. */
export function workersOf(server: ServerProcess): Map<number, number> {
  const listening = logOf(server).filter(({ msg }) => msg === "a worker is listening")
  return new Map(listening.map(({ worker, pid }) => [Number(worker), Number(pid)]))
}

/** Whether a process has ended. A zombie counts as ended. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return /^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return true
  }
}

/** Opens clients of several services that share one connection, which is opened again if it breaks. */
export function connection(baseUrl: string) {
  const sessionManager = new Http2SessionManager(baseUrl)
  const transport = createGrpcTransport({ baseUrl, sessionManager })
  return {
    users: createClient(UserService, transport),
    health: createClient(Health, transport),
    close: () => sessionManager.abort(),
  }
}

/** A connection that was on its way to a worker that is killed is not answered, so its client has to give up. */
const timeoutMs = 15_000

/**
 * Returns the results of `count` health checks over new connections through each listener, and of as many of `/readyz`.
 */
export async function healthAnswers(server: ServerProcess, count = 6): Promise<string[]> {
  const check = async (url: string) => {
    const { health, close } = connection(url)
    try {
      return Status[(await health.check({}, { timeoutMs })).status]
    } finally {
      close()
    }
  }
  const probe = async () => {
    const { ok } = await fetch(`${server.httpUrl}/readyz`, {
      headers: { connection: "close" },
      signal: AbortSignal.timeout(timeoutMs),
    })
    return ok ? "SERVING" : "NOT_SERVING"
  }
  const asked = Array.from({ length: count }, () => [check(server.grpcUrl), check(server.httpUrl), probe()])
  return (await Promise.all(asked.flat())).map(String)
}

/** Resolves when all health checks over many connections return this status. */
export function untilHealth(server: ServerProcess, answer: "SERVING" | "NOT_SERVING"): Promise<void> {
  return until(async () => (await healthAnswers(server)).every((one) => one === answer))
}
