// The places in the repository where the version of a release stands.
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { lockFiles, readJson } from "../dependencies/lock.js"

// 1.2.3 or 1.2.3-rc.1, and no part of an address.
const version = String.raw`(\d+\.\d+\.\d+(?:-[a-z]+\.\d+)?)(?!\.?\d)`
const pages = ["*.md", "{docs,site/guide}/**/*.md", "*/README.md", "deploy/{*.yaml,*Dockerfile}"]
const texts = [
  { files: ["gen/python/pyproject.toml"], before: '^version = "' },
  { files: ["deploy/helm/authwire/Chart.yaml"], before: "^version: " },
  { files: ["deploy/helm/authwire/Chart.yaml"], before: "^appVersion: " },
  // Names of images and tarballs: authwire:1.2.3, authwire-{client,token}-1.2.3.tgz.
  { files: pages, before: String.raw`\bauthwire[\w{},-]*[-:]` },
]

/**
 * Calls `at(version, file)` for every place with the version of the release, and writes there what it returns.
 *
 * @throws if a file that must have the version does not.
 */
export function everyVersion(root, at) {
  for (const { files, before } of texts) inTexts(root, files, before, at)
  const names = new Set()
  const manifests = readJson(root, "package.json").workspaces.map((folder) => `${folder}/package.json`)
  for (const file of manifests) {
    const { name, private: isPrivate } = readJson(root, file)
    if (!isPrivate) names.add(name)
  }
  for (const file of manifests) inJson(root, file, (manifest) => inManifest(manifest, names, file, at))
  for (const file of lockFiles(root)) {
    inJson(root, file, ({ packages }) => {
      // The packages of this repository that are linked into node_modules.
      const own = Object.entries(packages).filter(([path]) => path !== "" && !path.includes("node_modules"))
      for (const [, entry] of own) inManifest(entry, names, file, at)
    })
  }
}

function inTexts(root, files, before, at) {
  const pattern = new RegExp(`(${before})${version}`, "gm")
  let found = 0
  // The change log also names earlier versions.
  for (const file of globSync(files, { cwd: root, exclude: ["CHANGELOG.md", "**/node_modules/**"] })) {
    const text = readFileSync(join(root, file), "utf8")
    const changed = text.replaceAll(pattern, (_, start, told) => {
      found += 1
      return start + at(told, file)
    })
    if (changed !== text) writeFileSync(join(root, file), changed)
  }
  if (found === 0) throw new Error(`${files.join(", ")}: no version after ${before}`)
}

function inJson(root, file, change) {
  const content = readJson(root, file)
  change(content)
  const text = `${JSON.stringify(content, null, 2)}\n`
  if (text !== readFileSync(join(root, file), "utf8")) writeFileSync(join(root, file), text)
}

function inManifest(manifest, names, file, at) {
  manifest.version = at(manifest.version, file)
  for (const kind of ["dependencies", "devDependencies", "peerDependencies"]) {
    const wanted = manifest[kind] ?? {}
    for (const name of Object.keys(wanted)) {
      if (names.has(name) && !wanted[name].startsWith("file:")) wanted[name] = at(wanted[name], file)
    }
  }
}
