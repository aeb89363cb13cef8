import { spawnSync } from "node:child_process"

// Loaded by jest and, for `hasMountNamespaces`, by Node directly, so it imports no other file of this repository.

// Mounts a file system of 64 KiB in memory, half of it used. Only the program that the script starts sees it.
const script = 'mount -t tmpfs -o size=64k authwire-test "$0" && head -c 32768 /dev/zero >"$0/filler" && exec "$@"'

/** A disk with little free space. */
export interface SmallDisk {
  readonly path: string
  /** The command prefix of a program that has the disk at `path`. Other processes find it below `/proc/PID/root`. */
  readonly prefix: readonly string[]
}

/** @param path A folder. Removing the file `filler` in it frees 32 KiB. */
export function smallDisk(path: string): SmallDisk {
  return { path, prefix: ["unshare", "--mount", "sh", "-c", script, path] }
}

/** Whether this process can mount. That requires `unshare` (util-linux) and root. */
export function hasMountNamespaces(): boolean {
  const [program = "", ...args] = smallDisk("/tmp").prefix
  return spawnSync(program, [...args, "true"], { stdio: "ignore" }).status === 0
}
