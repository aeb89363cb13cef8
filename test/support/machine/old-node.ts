import { spawnSync } from "node:child_process"
import { delimiter, join } from "node:path"

// Loaded by jest and by Node as it is: so it imports no file of ours.

/** A Node on the path that is older than what Authwire needs, if there is one. */
export function oldNode(): string | undefined {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "node"))
    .find((program) => {
      const { stdout } = spawnSync(program, ["--version"], { encoding: "utf8" })
      return Number(/^v(\d+)\./.exec(stdout ?? "")?.[1]) < 22
    })
}
