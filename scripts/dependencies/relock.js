// relock.js [FOLDER…]: completes the lock files of these folders, by default of all, so that `npm ci` takes them. It wants an
// entry for each optional package, also for those of other systems. npm writes none for one that it found neither in
// node_modules nor in the registry. Such an entry is made here of what the package says that needs it: the version, and the
// systems by its name. It has no checksum, so npm writes that where such a system is in use.
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
  // In the order in which npm has them.
  lock.packages = Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b, "en")))
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
  console.log(`${join(folder, "package-lock.json")}: ${missing.length} entries more`)
}

/** What npm chooses a package by, as far as its name says it: `@biomejs/cli-linux-x64-musl`. */
function systemOf(name) {
  const [, os] = /\b(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)\b/.exec(name) ?? []
  const [, cpu] = /\b(arm64|arm|ia32|loong64|mips64el|ppc64|riscv64|s390x|x64)(?=v\d|-|$)/.exec(name) ?? []
  const [, libc] = /-(musl|gnu|glibc)(?:eabihf)?$/.exec(name) ?? []
  if (os === undefined || cpu === undefined) throw new Error(`${name}: for which system is it?`)
  return { cpu: [cpu], ...(os === "linux" && libc && { libc: [libc === "musl" ? libc : "glibc"] }), os: [os] }
}
