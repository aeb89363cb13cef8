// Bills of materials in CycloneDX, made by `npm sbom`.
//
// In a workspace, `npm sbom --omit=dev` leaves out packages that development dependencies need too (npm 11). Therefore npm
// gets a lock file that has only what is in the package or in the image.
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readJson, readWorkspaces } from "../dependencies/lock.js"

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
  const sbom = generate({ ...lock[folder], name }, movedTo(folder, entries, own))
  if (integrities.has(name)) sbom.metadata.component.hashes = [sha512(integrities.get(name))]
  return sbom
}

/** Returns the bill of materials of an image of scripts/deploy/build-image.js: its packages, and Node. */
export function sbomOfImage(folder) {
  const { packages } = readJson(folder, "node_modules/.package-lock.json")
  const entries = Object.entries(packages).filter(([, { link }]) => !link)
  const own = new Map(entries.filter(([path]) => !path.includes("node_modules")).map(([path, one]) => [path, one.name]))
  const others = entries.filter(([path]) => path !== "server")
  const sbom = generate(packages.server, movedTo("server", others, own))
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

/** The paths that entries of a lock file have if the package in `folder` is the root of node_modules. */
function movedTo(folder, entries, own) {
  const moved = new Map()
  for (const [path, entry] of entries) {
    const [, owner = "", rest = ""] = /^(?!node_modules\/)(.+?)(?:\/(node_modules\/.*))?$/.exec(path) ?? []
    const inOwner = rest === "" ? `node_modules/${own.get(owner)}` : `node_modules/${own.get(owner)}/${rest}`
    const place = owner === "" ? path : owner === folder ? rest : inOwner
    if (moved.has(place)) throw new Error(`${place}: two packages at the same place`)
    moved.set(place, entry)
  }
  return moved
}

/** Runs `npm sbom` on a lock file with these entries. Throws unless every package of them is in the result. */
function generate({ name, version, license, dependencies }, entries) {
  const manifest = { name, version, license, dependencies }
  const packages = { "": manifest }
  for (const [path, entry] of entries) {
    const { dev: _dev, peer: _peer, devOptional: _optional, devDependencies: _needs, ...rest } = entry
    packages[path] = rest
  }
  const folder = mkdtempSync(join(tmpdir(), "authwire-sbom-"))
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest))
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ ...manifest, lockfileVersion: 3, packages }))
    const args = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"]
    const sbom = JSON.parse(execFileSync("npm", args, { cwd: folder, encoding: "utf8", maxBuffer: 2 ** 26 }))
    sbom.metadata.component.name = name
    const listed = new Set(sbom.components.map((one) => `${one.name}@${one.version}`))
    for (const [path, entry] of entries) {
      const one = `${path.replace(/^.*node_modules\//, "")}@${entry.version}`
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
