import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))
const live = new URL("live.ts", import.meta.url).href

/** The resources that a run used. */
export interface Run {
  seconds: number
  /** The CPU time of this process alone, in seconds. */
  cpuSeconds: number
  /** The peak memory, and the memory after each tenth of the run. */
  peakMib: number
  memoryMib: number[]
  /** The live memory after a full garbage collection, after each tenth of the run. Empty unless requested. */
  liveMib: number[]
  code: number | null
  output: string
}

export interface RunOptions {
  /** The run is killed soon after this returns true. */
  isEnough?: () => Promise<boolean>
  /** Whether the process collects its garbage repeatedly, which takes CPU time. */
  tellsLive?: boolean
}

/** Runs the command and measures its memory. */
export async function runCommand(
  args: readonly string[],
  environment: Record<string, string>,
  { isEnough, tellsLive = false }: RunOptions = {},
): Promise<Run> {
  const begun = performance.now()
  const child: ChildProcess = spawn(
    process.execPath,
    [...(tellsLive ? ["--expose-gc", "--import", live] : []), command, ...args],
    {
      env: { PATH: process.env.PATH, ...environment },
      stdio: ["ignore", "pipe", "pipe", ...(tellsLive ? ["ipc" as const] : [])],
    },
  )
  const alive: number[] = []
  child.on("message", (mib) => alive.push(Number(mib)))
  let output = ""
  child.stdout?.on("data", (chunk) => {
    output += chunk
  })
  child.stderr?.on("data", (chunk) => {
    output += chunk
  })
  const closed = once(child, "close") as Promise<[number | null]>
  const samples: number[] = []
  let [cpuSeconds, peakMib] = [0, 0]
  let isOver = false
  closed.then(() => {
    isOver = true
  })
  while (!isOver) {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8")
      const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
      cpuSeconds = (Number(stat[11]) + Number(stat[12])) / 100
      const rss = /^VmRSS:\s+(\d+)/m.exec(status)?.[1]
      // The value is missing between the end of the process and its exit event.
      if (rss !== undefined) samples.push(Number(rss) / 1024)
      peakMib = Math.max(peakMib, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024)
    } catch {
      // The process has ended.
    }
    // Only every fourth sample, because counting the rows is work for the database.
    if (samples.length % 4 === 0 && (await isEnough?.())) child.kill("SIGKILL")
    await Promise.race([delay(500), closed])
  }
  const [code] = await closed
  return {
    seconds: (performance.now() - begun) / 1000,
    cpuSeconds,
    peakMib: Math.round(peakMib),
    memoryMib: tenths(samples),
    liveMib: tenths(alive),
    code,
    output,
  }
}

/** Returns at most ten samples at even distances, including the last one. */
function tenths(samples: readonly number[]): number[] {
  const count = Math.min(10, samples.length)
  return Array.from({ length: count }, (_, n) =>
    Math.round(samples[Math.ceil(((n + 1) * samples.length) / count) - 1] ?? 0),
  )
}
