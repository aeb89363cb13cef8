// Runs an image of buildImage as a container would: read-only, as its user, and without any capability.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { text } from "node:stream/consumers"

// A bind mount of the image on itself makes it read-only wherever it is stored.
const confine =
  'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -o remount,bind,ro / && cd "$1" && shift && exec "$@"'

/** Starts a program of the image. Needs root, and `unshare`, `mount` and `setpriv` of util-linux. */
export function startInImage(image, command, env = {}) {
  const [user, group] = image.user.split(":")
  // Absolute paths refer to the root of the image.
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

/** Runs a program of the image until it exits. Resolves to its exit code and its output. */
export async function runInImage(image, command, env) {
  const child = startInImage(image, command, env)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  return { code, output: stdout + stderr }
}
