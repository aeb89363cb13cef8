import { readdirSync, readFileSync } from "node:fs"

/** `getconf CLK_TCK`: the same on every Linux that Node runs on. */
const ticksPerSecond = 100

/**
 * The seconds of CPU that a process and its children had so far, user and system; null where there is no /proc, or no
 * such process.
 */
export function cpuSeconds(pid: number): number | null {
  try {
    // The name of the program, in parentheses, may hold spaces.
    const text = readFileSync(`/proc/${pid}/stat`, "latin1")
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    const own = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
    return children(pid).reduce((sum, child) => sum + (cpuSeconds(child) ?? 0), own)
  } catch {
    return null
  }
}

/** The memory of a process and its children that is in RAM, in bytes; null as above. */
export function residentBytes(pid: number): number | null {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]
    if (kilobytes === undefined) return null
    return children(pid).reduce((sum, child) => sum + (residentBytes(child) ?? 0), Number(kilobytes) * 1024)
  } catch {
    return null
  }
}

function children(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return readFileSync(`/proc/${pid}/task/${task}/children`, "latin1").trim().split(" ").filter(Boolean).map(Number)
    } catch {
      return []
    }
  })
}
