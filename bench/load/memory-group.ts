import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** A group of processes that share so much memory (a cgroup of Linux): who needs more is ended by the system. */
export interface MemoryGroup {
  /** Does something; the processes that it starts belong to the group. */
  within<T>(start: () => Promise<T>): Promise<T>
  /** To be called when they have ended. */
  remove(): void
}

/** The two forms of cgroups: where they are, and where the limit stands. */
const forms = [
  { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", line: /^\d+:memory:(.*)$/m },
  { root: "/sys/fs/cgroup", limit: "memory.max", line: /^0::(.*)$/m },
]

/** Makes one of so many bytes; undefined where this process may not, or the system has none. */
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
    return {
      async within(start) {
        // What a process starts is in its group.
        move(folder)
        try {
          return await start()
        } finally {
          move(join(root, own))
        }
      },
      remove: () => rmdirSync(folder),
    }
  }
  return undefined
}
