// Builds the site into dist/: the pages of what is checked out, and below /vX.Y/ those of the last releases, which each
// builds with its own tools. Needs build/earlier (make earlier-install).
import { execFileSync } from "node:child_process"
import { cpSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { lastReleases } from "../scripts/releases.ts"
import { versionsOf } from "./versions.ts"

const here = fileURLToPath(new URL(".", import.meta.url))
const versions = versionsOf(lastReleases())
for (const { base, tag } of versions) {
  const folder = tag === undefined ? here : join(here, "../build/earlier", tag, "site")
  const env = { ...process.env, AUTHWIRE_SITE_BASE: base, AUTHWIRE_SITE_VERSIONS: JSON.stringify(versions) }
  const npm = (...args) => execFileSync("npm", args, { cwd: folder, env, stdio: "inherit" })
  if (tag !== undefined) npm("ci", "--loglevel=error")
  npm("run", "--silent", "pages")
  if (tag !== undefined) cpSync(join(folder, "dist"), join(here, "dist", base), { recursive: true })
}
