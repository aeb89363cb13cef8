import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

// Loaded by jest and by Node directly, so it imports no other file of this repository.

const folder = fileURLToPath(new URL("../../../build/earlier", import.meta.url))

/** The command `authwire` of an earlier version. */
export const earlierCommand = `${folder}/server/bin/authwire.js`

/** Whether an earlier version was built: `make earlier-install`. */
export function hasEarlierVersion(): boolean {
  return existsSync(`${folder}/commit`)
}

/** The commit from which it was built. */
export function earlierCommit(): string {
  return hasEarlierVersion() ? readFileSync(`${folder}/commit`, "utf8").trim() : "none"
}

/**
 * Whether a version supports an engine. The server's dependencies tell, because the files of the store may be moved.
 *
 * @param version - The folder of the version. Default: that of the earlier version.
 */
export function earlierKnows(engine: string, version: string = folder): boolean {
  if (engine !== "postgres") return true
  const { dependencies } = JSON.parse(readFileSync(`${version}/server/package.json`, "utf8"))
  return "pg" in dependencies
}
