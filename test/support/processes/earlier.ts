import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { lastReleases } from "../../../scripts/releases.ts"

// Loaded by jest and by Node directly, so what it imports imports no other file of this repository.

const root = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "")

/** A version of this project that is built. */
export interface Version {
  readonly name: string
  /** The file of its command `authwire`. */
  readonly command: string
  /** The folder in whose node_modules its client is, as npm installs it. */
  readonly client: string
}

const versionIn = (name: string, folder: string): Version => ({
  name,
  command: `${folder}/server/bin/authwire.js`,
  client: `${folder}/build/client`,
})

export const thisVersion = versionIn("this version", root)

/** The last two releases. Empty until there is one. */
export const earlierVersions = lastReleases().map((tag) => versionIn(tag, `${root}/build/earlier/${tag}`))

/** Whether all of these versions are built: `make earlier-install`. */
export function hasVersions(): boolean {
  return [thisVersion, ...earlierVersions].every(({ client }) => existsSync(client))
}
