import { spawnSync } from "node:child_process"
import { delimiter, join } from "node:path"

// Loaded by jest and by Node directly, so it imports no other file of this repository.

/** Returns a Node on the PATH that is older than Authwire requires, if there is one. */
export function oldNode(): string | undefined {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "node"))
    .find((program) => {
      const { stdout } = spawnSync(program, ["--version"], { encoding: "utf8" })
      return Number(/^v(\d+)\./.exec(stdout ?? "")?.[1]) < 22
    })
}
