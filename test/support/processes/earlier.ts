import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

// Loaded by jest and by Node as it is: so it imports no file of ours.

const folder = fileURLToPath(new URL("../../../build/earlier", import.meta.url))

/** The command `authwire` of an earlier version. */
export const earlierCommand = `${folder}/server/bin/authwire.js`

/** Whether one was built: `make earlier-install`. */
export function hasEarlierVersion(): boolean {
  return existsSync(`${folder}/commit`)
}

/** The commit that it was built from. */
export function earlierCommit(): string {
  return hasEarlierVersion() ? readFileSync(`${folder}/commit`, "utf8").trim() : "none"
}

/** Whether it can use a server of that kind. */
export function earlierKnows(engine: string): boolean {
  return engine !== "postgres" || existsSync(`${folder}/server/dist/store/sql/engine/postgres.js`)
}
