// Bills of materials in CycloneDX, made by `npm sbom`.
//
// In a workspace, `npm sbom --omit=dev` leaves out packages that development dependencies need too (npm 11). Therefore npm
// gets a lock file that has only what is in the package or in the image.
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundledIn, readJson, readWorkspaces } from "../dependencies/lock.js"

/**
 * Returns the bill of materials of a published package, with the versions of package-lock.json.
 *
 * @param integrities - The checksums of the tarballs by package, as in a lock file.
 */
export function sbomOfPackage(root, name, integrities) {
  const workspaces = readWorkspaces(root)
  const { folder, direct, needs } = workspaces.find((one) => one.name === name)
  const lock = readJson(root, "package-lock.json").packages
  const own = new Map(workspaces.map((one) => [one.folder, one.name]))
  const entries = needs(direct).map(({ path }) => {
    const integrity = integrities.get(own.get(path))
    return [path, { ...lock[path], ...(integrity && { integrity }) }]
  })
  const sbom = generate(folder, [[folder, { ...lock[folder], name }], ...entries], own, root)
  if (integrities.has(name)) sbom.metadata.component.hashes = [sha512(integrities.get(name))]
  return sbom
}

/** Returns the bill of materials of an image of scripts/deploy/build-image.js: its packages, and Node. */
export function sbomOfImage(folder) {
  const { packages } = readJson(folder, "node_modules/.package-lock.json")
  const entries = Object.entries(packages).filter(([, { link }]) => !link)
  const own = new Map(entries.filter(([path]) => !path.includes("node_modules")).map(([path, one]) => [path, one.name]))
  const sbom = generate("server", entries, own, folder)
  const service = sbom.metadata.component
  const node = {
    "bom-ref": "node",
    type: "platform",
    name: "node",
    version: process.versions.node,
    purl: `pkg:generic/node@${process.versions.node}`,
    licenses: [{ license: { id: "MIT" } }],
  }
  sbom.components.push(service, node)
  sbom.metadata.component = { "bom-ref": "image", type: "container", name: "authwire", version: service.version }
  sbom.dependencies.push({ ref: "image", dependsOn: [service["bom-ref"], "node"] })
  // The packages of Debian in the base image are not listed.
  sbom.compositions = [{ aggregate: "incomplete", assemblies: ["image"] }]
  return sbom
}

/** Adds the packages that are bundled in packages of this repository, as if these had them in their node_modules. */
function withBundled(entries, own, files) {
  const installed = new Map(entries)
  return entries.flatMap(([path, entry]) => {
    const bundled = own.has(path) ? bundledIn(files, path) : []
    const dependencies = { ...entry.dependencies }
    for (const { name, version } of bundled) dependencies[name] = version
    const inside = bundled
      .filter(({ name, version }) => installed.get(`node_modules/${name}`)?.version !== version)
      .map(({ name, version, identifier }) => [`${path}/node_modules/${name}`, { version, license: identifier }])
    return [[path, { ...entry, dependencies }], ...inside]
  })
}

/** The path that an entry of a lock file has if the package in `folder` is the root of node_modules. */
function movedPath(folder, path, own) {
  const [, owner = "", rest = ""] = /^(?!node_modules\/)(.+?)(?:\/(node_modules\/.*))?$/.exec(path) ?? []
  if (owner === "") return path
  if (owner === folder) return rest
  return `node_modules/${own.get(owner)}${rest && `/${rest}`}`
}

/**
 * Runs `npm sbom` for the package in a folder, on a lock file with these entries. Throws unless every one is in the result.
 *
 * @param own - The names of the packages of this repository by folder.
 * @param files - Where these folders are.
 */
function generate(root, entries, own, files) {
  const packages = {}
  for (const [path, entry] of withBundled(entries, own, files)) {
    const { dev: _dev, peer: _peer, devOptional: _optional, devDependencies: _needs, ...rest } = entry
    const moved = movedPath(root, path, own)
    if (moved in packages) throw new Error(`${moved}: two packages at the same place`)
    packages[moved] = rest
  }
  const { name, version, license, dependencies } = packages[""]
  const manifest = { name, version, license, dependencies }
  packages[""] = manifest
  const folder = mkdtempSync(join(tmpdir(), "authwire-sbom-"))
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest))
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ ...manifest, lockfileVersion: 3, packages }))
    const args = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"]
    const sbom = JSON.parse(execFileSync("npm", args, { cwd: folder, encoding: "utf8", maxBuffer: 2 ** 26 }))
    sbom.metadata.component.name = name
    const listed = new Set(sbom.components.map((one) => `${one.name}@${one.version}`))
    for (const [path, { version: installed }] of Object.entries(packages)) {
      if (path === "") continue
      const one = `${path.replace(/^.*node_modules\//, "")}@${installed}`
      if (!listed.has(one)) throw new Error(`npm sbom does not list ${one} of ${name}`)
    }
    return sbom
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function sha512(integrity) {
  return { alg: "SHA-512", content: Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex") }
}
