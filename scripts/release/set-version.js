// set-version.js VERSION: writes a new version wherever it occurs. Then run `npm install --package-lock-only` and `make
// gen`.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { publishedPackages, root } from "./packages.js"

const [version = ""] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) throw new Error("VERSION: must be one as 1.2.3 or 1.2.3-rc.1")

const packages = publishedPackages()
const [{ manifest: first }] = packages
const old = first.version
const names = packages.map(({ manifest }) => manifest.name)
const { workspaces } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const replacements = [
  ...workspaces.map((folder) => [`${folder}/package.json`, `"version": "${old}"`, `"version": "${version}"`]),
  ...workspaces.flatMap((folder) =>
    names.map((name) => [`${folder}/package.json`, `"${name}": "${old}"`, `"${name}": "${version}"`]),
  ),
  ["gen/python/pyproject.toml", `version = "${old}"`, `version = "${version}"`],
  ["deploy/helm/authwire/Chart.yaml", `ersion: ${old}`, `ersion: ${version}`],
  ["deploy/compose.yaml", `:${old}\n`, `:${version}\n`],
  ["deploy/Dockerfile", `authwire:${old}`, `authwire:${version}`],
  ["docs/deploying.md", `authwire:${old}`, `authwire:${version}`],
  // The packages of a checkout, which the guides install.
  ...[
    "README.md",
    "docs/deploying.md",
    ...["nextjs", "express", "sveltekit"].map((guide) => `docs/start/${guide}.md`),
  ].map((page) => [page, `-${old}.tgz`, `-${version}.tgz`]),
]
for (const [path, before, after] of replacements) {
  const text = readFileSync(join(root, path), "utf8")
  writeFileSync(join(root, path), text.replaceAll(before, after))
}
console.log(`${old} -> ${version}: now npm install --package-lock-only, and make gen`)
