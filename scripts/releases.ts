// Prints the tags of the last two releases before this commit, the newest first, one line each.
//
//   node scripts/releases.ts

import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const git = (folder: string, ...args: string[]) =>
  execFileSync("git", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()

/**
 * Returns the tags of the last two releases before the commit that is checked out, the newest first: what upgrades,
 * clients, the schema and the pages of versions are tested with. Release candidates are none. Empty without a history.
 *
 * @param folder - The repository. Default: this one.
 */
export function lastReleases(folder: string = root): string[] {
  if (!hasHistory(folder)) return []
  const tags = ["tag", "--list", "v*", "--merged=HEAD", "--no-contains=HEAD", "--sort=-version:refname"]
  return git(folder, ...tags)
    .split("\n")
    .filter((tag) => /^v\d+\.\d+\.\d+$/.test(tag))
    .slice(0, 2)
}

/** Whether the tags can be known: not in a shallow clone, nor in files without a history. */
export function hasHistory(folder: string = root): boolean {
  try {
    return git(folder, "rev-parse", "--is-shallow-repository") === "false"
  } catch {
    return false
  }
}

if (import.meta.main) for (const tag of lastReleases()) console.log(tag)
