import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))

/** What a run took. */
export interface Run {
  seconds: number
  /** Of the processor, in this process alone. */
  cpuSeconds: number
  /** The most memory that it had, and what it had after each tenth of its time. */
  peakMib: number
  memoryMib: number[]
  code: number | null
  output: string
}

/** Runs the command, watches its memory, and kills it as soon as `isEnough`. */
export async function runCommand(
  args: readonly string[],
  environment: Record<string, string>,
  isEnough?: () => Promise<boolean>,
): Promise<Run> {
  const begun = performance.now()
  const child: ChildProcess = spawn(process.execPath, [command, ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  })
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
      samples.push(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024)
      peakMib = Math.max(peakMib, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024)
    } catch {
      // It has ended.
    }
    if (await isEnough?.()) child.kill("SIGKILL")
    await Promise.race([delay(500), closed])
  }
  const [code] = await closed
  const memoryMib = Array.from({ length: 10 }, (_, n) =>
    Math.round(samples[Math.floor((n * samples.length) / 10)] ?? 0),
  )
  return {
    seconds: (performance.now() - begun) / 1000,
    cpuSeconds,
    peakMib: Math.round(peakMib),
    memoryMib,
    code,
    output,
  }
}
