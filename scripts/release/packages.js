// The packages of a release.
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../..", import.meta.url))

/** Returns the published packages, each as `{ folder, manifest }`. */
export function publishedPackages() {
  const read = (path) => JSON.parse(readFileSync(join(root, path), "utf8"))
  return read("package.json")
    .workspaces.map((folder) => ({ folder, manifest: read(`${folder}/package.json`) }))
    .filter(({ manifest }) => manifest.private !== true)
}

/** Packs all published packages into a folder. Returns the files by package name. */
export function packAll(folder) {
  mkdirSync(folder, { recursive: true })
  const tarballs = new Map()
  for (const { folder: source, manifest } of publishedPackages()) {
    const args = ["pack", "--json", "--loglevel=error", `--pack-destination=${folder}`]
    const [packed] = JSON.parse(execFileSync("npm", args, { cwd: join(root, source), encoding: "utf8", stdio: "pipe" }))
    tarballs.set(manifest.name, join(folder, packed.filename))
  }
  return tarballs
}
