// relock.js [FOLDER…]: completes the lock files of these folders, by default of all, so that `npm ci` accepts them.
// `npm ci` requires an entry for each optional package, also for those of other systems. npm writes no entry for a
// package that it found neither in node_modules nor in the registry. This script creates such an entry. The version
// comes from the package that needs it, and the system from the package's name. The entry has no checksum. npm adds the
// checksum where such a system is used.
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const tracked = execFileSync("git", ["ls-files", "*package-lock.json"], { cwd: root, encoding: "utf8" })
  .trim()
  .split("\n")
const folders = process.argv.length > 2 ? process.argv.slice(2) : tracked.map(dirname)

for (const folder of folders) {
  const file = join(root, folder, "package-lock.json")
  const lock = JSON.parse(readFileSync(file, "utf8"))
  const missing = Object.values(lock.packages).flatMap(({ dev, optionalDependencies = {} }) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !Object.keys(lock.packages).some((path) => path.endsWith(`node_modules/${name}`)))
      .map(([name, version]) => [
        `node_modules/${name}`,
        { version, ...systemOf(name), ...(dev && { dev }), optional: true },
      ]),
  )
  const entries = [...Object.entries(lock.packages), ...missing]
  // In npm's order.
  lock.packages = Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b, "en")))
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
  console.log(`${join(folder, "package-lock.json")}: ${missing.length} entries more`)
}

/** Returns the fields by which npm chooses a package, derived from its name, such as `@biomejs/cli-linux-x64-musl`. */
function systemOf(name) {
  const [, os] = /\b(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)\b/.exec(name) ?? []
  const [, cpu] = /\b(arm64|arm|ia32|loong64|mips64el|ppc64|riscv64|s390x|x64)(?=v\d|-|$)/.exec(name) ?? []
  const [, libc] = /-(musl|gnu|glibc)(?:eabihf)?$/.exec(name) ?? []
  if (os === undefined || cpu === undefined) throw new Error(`${name}: for which system is it?`)
  return { cpu: [cpu], ...(os === "linux" && libc && { libc: [libc === "musl" ? libc : "glibc"] }), os: [os] }
}
