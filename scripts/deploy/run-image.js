// Runs what buildImage made as a container would: nothing can be written, as its user, without any capability.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { text } from "node:stream/consumers"

// The image is bound to itself, so that it is read-only wherever it lies.
const confine =
  'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -o remount,bind,ro / && cd "$1" && shift && exec "$@"'

/** Starts a program of the image. Needs root, and `unshare`, `mount` and `setpriv` of util-linux. */
export function startInImage(image, command, env = {}) {
  const [user, group] = image.user.split(":")
  // Paths in the image begin at its root.
  const [program, ...args] = command.map((word) => (word.startsWith("/") ? join(image.root, word) : word))
  const drop = [`--reuid=${user}`, `--regid=${group}`, "--clear-groups", "--no-new-privs"]
  const none = ["--inh-caps=-all", "--bounding-set=-all"]
  return spawn(
    "unshare",
    [
      "--mount",
      "sh",
      "-c",
      confine,
      image.root,
      join(image.root, image.workdir),
      "setpriv",
      ...drop,
      ...none,
      program,
      ...args,
    ],
    {
      env: { PATH: `${join(image.root, "usr/local/bin")}:/usr/local/bin:/usr/bin:/bin`, ...image.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    },
  )
}

/** Runs a program of the image to its end. Resolves to its exit code and all that it wrote. */
export async function runInImage(image, command, env) {
  const child = startInImage(image, command, env)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  return { code, output: stdout + stderr }
}
