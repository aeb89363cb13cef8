import { readdirSync, readFileSync } from "node:fs"

/** The value of `getconf CLK_TCK`. It is the same on every Linux that Node supports. */
const ticksPerSecond = 100

/**
 * Returns the CPU seconds, user and system, that a process and its children have used so far. Returns null if there is
 * no /proc or no such process.
 */
export function cpuSeconds(pid: number): number | null {
  try {
    // The program name in parentheses may contain spaces.
    const text = readFileSync(`/proc/${pid}/stat`, "latin1")
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    const own = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
    return children(pid).reduce((sum, child) => sum + (cpuSeconds(child) ?? 0), own)
  } catch {
    return null
  }
}

/** Returns the resident memory of a process and its children in bytes; null as above. */
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
