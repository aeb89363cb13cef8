import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

// Loaded by jest and by Node as it is: so it imports no file of ours.

export const site = fileURLToPath(new URL("../../../site", import.meta.url))

/** Whether what builds the site is installed: `npm install` in site/. */
export function hasSite(): boolean {
  return existsSync(`${site}/node_modules/vitepress`)
}
