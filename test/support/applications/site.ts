import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

// Loaded by jest and by Node directly, so it imports no other file of this repository.

export const site = fileURLToPath(new URL("../../../site", import.meta.url))

/** Whether the tools that build the site are installed: `npm install` in site/. */
export function hasSite(): boolean {
  return existsSync(`${site}/node_modules/vitepress`)
}
