import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"

// Loaded by jest and by Node directly, so it imports no other file of this repository.

/** Servers are in these folders, which are often missing in the PATH of an ordinary user. */
const sbin = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec"]

/** Returns the path of a program on the PATH, in a folder of servers or in `others`. Undefined if there is none. */
export function findProgram(name: string, others: readonly string[] = []): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...sbin, ...others]
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

/** Whether a program is on the PATH. */
export function hasTool(name: string): boolean {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => isExecutable(join(folder, name)))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
