import { spawnSync } from "node:child_process"

// Loaded by jest and, for `hasMountNamespaces`, by Node as it is: so it imports no file of ours.

// A file system of 64 KiB in memory, half of it taken. Only the program that follows sees it.
const script = 'mount -t tmpfs -o size=64k authwire-test "$0" && head -c 32768 /dev/zero >"$0/filler" && exec "$@"'

/** A disk that is soon full. */
export interface SmallDisk {
  readonly path: string
  /** What starts a program that has it at `path`. Others find it below `/proc/PID/root`. */
  readonly prefix: readonly string[]
}

/** @param path of a folder; removing the file `filler` in it makes space for 32 KiB more. */
export function smallDisk(path: string): SmallDisk {
  return { path, prefix: ["unshare", "--mount", "sh", "-c", script, path] }
}

/** Whether this process may mount: it needs `unshare` (util-linux) and to be root. */
export function hasMountNamespaces(): boolean {
  const [program = "", ...args] = smallDisk("/tmp").prefix
  return spawnSync(program, [...args, "true"], { stdio: "ignore" }).status === 0
}
