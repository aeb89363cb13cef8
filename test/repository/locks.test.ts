import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))
const locks = globSync("**/package-lock.json", { cwd: root, exclude: (name) => /node_modules|build|\.next/.test(name) })

interface Entry {
  resolved?: string
  link?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const read = (lock: string) => JSON.parse(readFileSync(`${root}/${lock}`, "utf8")).packages as Record<string, Entry>

/** Whether `name` resolves to a package from the package at `from`, with the algorithm of Node. */
function isHeld(packages: Record<string, Entry>, from: string, name: string): boolean {
  for (let folder = from; ; folder = folder.replace(/(^|\/)[^/]*$/, "")) {
    if (`${folder && `${folder}/`}node_modules/${name}` in packages) return true
    if (folder === "") return false
  }
}

// npm omits packages of other systems if node_modules exists, and `npm ci` then rejects the lock file. `node
// scripts/dependencies/relock.js` repairs it.
test.each(locks)("%s has the packages of every system, as `npm ci` requires", (lock) => {
  const packages = read(lock)
  // Packages that are linked from elsewhere in the repository have their dependencies there.
  const own = Object.entries(packages).filter(([path]) => !path.startsWith("../"))
  const missing = own.flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !isHeld(packages, path, name))
      .map((name) => `${name}, which ${path} needs`),
  )
  expect(missing).toEqual([])
})

test.each(locks)("%s has no download addresses", (lock) => {
  const addresses = Object.values(read(lock)).flatMap(({ resolved, link }) => (link ? [] : (resolved ?? [])))
  expect(addresses).toEqual([])
})
