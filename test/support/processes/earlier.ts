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

/** Whether the earlier version supports an engine. */
export function earlierKnows(engine: string): boolean {
  return engine !== "postgres" || existsSync(`${folder}/server/dist/store/sql/engine/postgres.js`)
}
