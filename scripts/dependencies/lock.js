// Reads the production dependencies of the published workspaces from their package.json files and package-lock.json.
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { isDeepStrictEqual } from "node:util"

/** Reads a JSON file below `root`. */
export function readJson(root, path) {
  return JSON.parse(readFileSync(join(root, path), "utf8"))
}

/** Returns the paths of all lock files of npm below `root`, sorted. */
export function lockFiles(root) {
  return filesNamed("package-lock.json", root)
}

/** The same of other package managers. */
export function otherLockFiles(root) {
  return filesNamed("{go.sum,Cargo.lock,requirements.txt,pom.xml}", root)
}

function filesNamed(name, root) {
  const others = new Set(["node_modules", "build", ".next", "target", ".venv"])
  return globSync(`**/${name}`, { cwd: root, exclude: (path) => others.has(basename(path)) }).sort()
}

/**
 * Returns the published workspaces, each as `{ name, folder, direct, peers, needs }`. `direct` and `peers` are the
 * packages in its package.json. `needs(names)` returns these packages and everything that they install.
 *
 * A package is `{ path, name, version, licence, ours, forPlatform, native, installScript }`. `forPlatform` tells that
 * npm chooses this package among several by the platform. A missing licence is undefined.
 */
export function readWorkspaces(root) {
  const entries = readJson(root, "package-lock.json").packages
  const packages = new Map()

  /** Resolves `name` for the package at `from`: the nearest one, as Node does. */
  function find(from, name) {
    for (let folder = from; ; folder = folder.replace(/(^|\/)[^/]*$/, "")) {
      const path = `${folder && `${folder}/`}node_modules/${name}`
      const entry = folder.endsWith("node_modules") ? undefined : entries[path]
      if (entry) return entry.link ? entry.resolved : path
      if (folder === "") return undefined
    }
  }

  function load(path, name) {
    const entry = entries[path]
    const forPlatform = Boolean(entry.optional && (entry.os || entry.cpu))
    return {
      path,
      name: entry.name ?? name,
      version: entry.version,
      licence: entry.license,
      ours: !path.includes("node_modules/"),
      forPlatform,
      native: forPlatform || hasNativeCode(join(root, path)),
      installScript: Boolean(entry.hasInstallScript),
    }
  }

  function gather(from, names, found) {
    for (const name of names) {
      const path = find(from, name)
      if (path === undefined) throw new Error(`package-lock.json does not hold ${name}, which ${from} needs`)
      if (found.has(path)) continue
      if (!packages.has(path)) packages.set(path, load(path, name))
      found.set(path, packages.get(path))
      const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta = {} } = entries[path]
      const peers = Object.keys(peerDependencies ?? {}).filter((peer) => !peerDependenciesMeta[peer]?.optional)
      gather(path, Object.keys({ ...dependencies, ...optionalDependencies }).concat(peers), found)
    }
    return found
  }

  return readJson(root, "package.json")
    .workspaces.map((folder) => ({ folder, manifest: readJson(root, `${folder}/package.json`) }))
    .filter(({ manifest }) => !manifest.private)
    .map(({ folder, manifest }) => {
      for (const key of ["dependencies", "optionalDependencies", "peerDependencies"]) {
        if (!isDeepStrictEqual(manifest[key], entries[folder]?.[key]))
          throw new Error(`package-lock.json is not that of ${folder}/package.json: run npm install`)
      }
      return {
        name: manifest.name,
        folder,
        direct: Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).sort(),
        peers: Object.keys(manifest.peerDependencies ?? {}).sort(),
        needs: (names) => [...gather(folder, names, new Map()).values()],
      }
    })
}

/** Whether an installed package contains native code, or would compile it. */
function hasNativeCode(folder) {
  if (!existsSync(folder)) return false
  return readdirSync(folder, { recursive: true }).some((file) => {
    return !/(^|[\\/])node_modules[\\/]/.test(file) && /(^|[\\/])binding\.gyp$|\.node$/.test(file)
  })
}
