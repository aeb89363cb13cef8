import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))
const live = new URL("live.ts", import.meta.url).href

/** What a run took. */
export interface Run {
  seconds: number
  /** Of the processor, in this process alone. */
  cpuSeconds: number
  /** The most memory that it had, and what it had after each tenth of its time. */
  peakMib: number
  memoryMib: number[]
  /** What was alive after all garbage was collected, after each tenth of its time; empty unless asked for. */
  liveMib: number[]
  code: number | null
  output: string
}

export interface RunOptions {
  /** The run is killed soon after this is true. */
  isEnough?: () => Promise<boolean>
  /** Whether to have it collect its garbage again and again, which takes time of the processor. */
  tellsLive?: boolean
}

/** Runs the command and watches its memory. */
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
      // It has none any more between its end and the moment in which that is told.
      if (rss !== undefined) samples.push(Number(rss) / 1024)
      peakMib = Math.max(peakMib, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024)
    } catch {
      // It has ended.
    }
    // To count the rows is work for the database.
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

/** Ten of them, or fewer, the last one among them. */
function tenths(samples: readonly number[]): number[] {
  const count = Math.min(10, samples.length)
  return Array.from({ length: count }, (_, n) =>
    Math.round(samples[Math.ceil(((n + 1) * samples.length) / count) - 1] ?? 0),
  )
}
