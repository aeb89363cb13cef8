import { execFileSync, spawnSync } from "node:child_process"
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"

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

/** A disk that a test fills. Every process finds it. */
export interface FillableDisk {
  /** Leaves no free byte. */
  fill(): void
  /** Removes what `fill` wrote. */
  free(): void
  /** Removes the disk, also while files on it are open. */
  unmount(): void
}

/** Mounts a file system of 16 MiB in memory at a folder, which is created. */
export function mountDisk(path: string, owner: { uid: number; gid: number } = { uid: 0, gid: 0 }): FillableDisk {
  mkdirSync(path, { recursive: true })
  const options = `size=16m,mode=0700,uid=${owner.uid},gid=${owner.gid}`
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "authwire-test", path])
  const filler = join(path, "filler")
  return {
    fill() {
      const file = openSync(filler, "a")
      for (let size = 2 ** 20; size >= 2 ** 12; size /= 2) {
        try {
          const bytes = Buffer.alloc(size)
          for (;;) if (writeSync(file, bytes) < size) break
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error
        }
      }
      closeSync(file)
    },
    free: () => rmSync(filler, { force: true }),
    unmount: () => execFileSync("umount", ["--lazy", path]),
  }
}

/** Whether this process can mount. That requires `unshare` (util-linux) and root. */
export function hasMountNamespaces(): boolean {
  const [program = "", ...args] = smallDisk("/tmp").prefix
  return spawnSync(program, [...args, "true"], { stdio: "ignore" }).status === 0
}
