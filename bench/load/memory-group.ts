import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/**
 * A group of processes with a common memory limit (a Linux cgroup). The kernel kills a process of the group that
 * exceeds it.
 */
export interface MemoryGroup {
  /** Runs a function. The processes that it starts belong to the group. */
  within<T>(start: () => Promise<T>): Promise<T>
  /** Removes the group. All of its processes must have ended. The exit of this process ends them and removes the group too. */
  remove(): void
}

/** The two versions of cgroups, with their root and the file of the memory limit. */
const forms = [
  { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", line: /^\d+:memory:(.*)$/m },
  { root: "/sys/fs/cgroup", limit: "memory.max", line: /^0::(.*)$/m },
]

/**
 * Creates a group with this limit in bytes. Returns undefined if this process may not do so or if there are no cgroups.
 */
export function memoryGroup(bytes: number): MemoryGroup | undefined {
  for (const { root, limit, line } of forms) {
    const own = line.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1]
    const folder = join(root, `authwire-${process.pid}`)
    if (own === undefined) continue
    try {
      mkdirSync(folder)
    } catch {
      continue
    }
    try {
      writeFileSync(join(folder, limit), String(bytes))
    } catch {
      rmdirSync(folder)
      continue
    }
    const move = (to: string) => writeFileSync(join(to, "cgroup.procs"), String(process.pid))
    const clear = () => {
      move(join(root, own))
      endGroup(folder)
    }
    process.once("exit", clear)
    return {
      async within(start) {
        // A child process inherits the group of its parent.
        move(folder)
        try {
          return await start()
        } finally {
          move(join(root, own))
        }
      },
      remove() {
        process.off("exit", clear)
        rmdirSync(folder)
      },
    }
  }
  return undefined
}

/** Ends the processes of a group and removes it. Blocks for two seconds at most, because an exit cannot wait otherwise. */
function endGroup(folder: string): void {
  for (let tries = 1; ; tries++) {
    try {
      const pids = readFileSync(join(folder, "cgroup.procs"), "utf8").match(/\d+/g) ?? []
      for (const pid of pids) process.kill(Number(pid), "SIGKILL")
      rmdirSync(folder)
      return
    } catch (error) {
      if (tries === 200) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}
