import { setTimeout as delay } from "node:timers/promises"
import type { ServerProcess } from "../servers/processes.ts"
import { startChild } from "./child.ts"
import { cpuSeconds, residentBytes } from "./cpu.ts"
import { type Probe, type Seen, seen, type Watched, watched } from "./probes.ts"

/** What the server and an application with another key notice of a flood. */
export interface FloodEffects {
  /** The fraction of a core that the server used during the flood. */
  serverCpu: number
  /** The server's memory: before, and the maximum until five seconds after the end. */
  quietBytes: number
  mostBytes: number
  seen: Record<Watched, Seen>
}

const quietMs = 20_000
const afterMs = 5_000

/**
 * Observes a server for 20 seconds, and again while a flood runs. The application uses the API key of this run.
 *
 * @param users - The number of users in the database. Each has the sessions of bench/data/keys.ts.
 */
export async function effectsOf<T>(
  { pid, endpoints }: ServerProcess,
  users: number,
  flood: () => Promise<T>,
): Promise<{ sent: T; effects: FloodEffects }> {
  const { grpcUrl = "", httpUrl = "" } = endpoints
  // Keeps the watcher's garbage collections short. Beside the senders they took 40 ms, which would count as the
  // service's time.
  const nodeArgs = ["--max-semi-space-size=1"]
  const watcher = await startChild("probe-side.ts", [grpcUrl, httpUrl, String(users)], { nodeArgs })
  // Discards the results of the start-up phase.
  await delay(1_000)
  await watcher.ask({})
  await delay(quietMs)
  const quiet = (await watcher.ask({})) as Probe[]

  const quietBytes = residentBytes(pid) ?? 0
  let mostBytes = quietBytes
  const look = setInterval(() => {
    mostBytes = Math.max(mostBytes, residentBytes(pid) ?? 0)
  }, 250)
  const begun = performance.now()
  const cpuBefore = cpuSeconds(pid) ?? 0
  const sent = await flood()
  const serverCpu = ((cpuSeconds(pid) ?? 0) - cpuBefore) / ((performance.now() - begun) / 1000)
  const ended = performance.timeOrigin + performance.now()
  await delay(afterMs)
  clearInterval(look)
  const probes = (await watcher.ask({})) as Probe[]
  await watcher.stop()
  const sights = Object.fromEntries(watched.map((what) => [what, seen(what, quiet, probes, ended)]))
  return { sent, effects: { serverCpu, quietBytes, mostBytes, seen: sights as FloodEffects["seen"] } }
}
