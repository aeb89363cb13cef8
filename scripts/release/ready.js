// ready.js [--final] [ROOT]: fails if the repository is not that of a release: if versions differ, or the change log
// has no section for the version. With --final the section must have a date, nothing may be uncommitted, and the tag
// may not belong to another commit. Tests pass another folder.
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { root as here } from "./packages.js"
import { everyVersion } from "./versions.js"

const { values, positionals } = parseArgs({ allowPositionals: true, options: { final: { type: "boolean" } } })
const [root = here] = positionals
const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim()

const versions = new Map()
everyVersion(root, (version, file) => {
  versions.set(version, [...(versions.get(version) ?? []), file])
  return version
})
const [[version] = []] = [...versions].sort(([, a], [, b]) => b.length - a.length)
const problems = [...disagreements(), ...changelog(), ...(values.final ? commit() : [])]
for (const problem of problems) console.error(`release: ${problem}`)
if (problems.length > 0) process.exitCode = 1
else console.log(`release: ${version} stands in ${new Set(versions.get(version)).size} files and in CHANGELOG.md`)

function disagreements() {
  const others = [...versions].filter(([told]) => told !== version)
  return others.flatMap(([told, files]) => files.map((file) => `${file} has the version ${told}, others ${version}`))
}

function changelog() {
  const [, section = ""] = readFileSync(join(root, "CHANGELOG.md"), "utf8").split(/^## /m)
  const [, told, date] = /^(\S+) \((unreleased|\d{4}-\d\d-\d\d)\)\n/.exec(section) ?? []
  if (told !== version)
    return [`the first section of CHANGELOG.md must be "## ${version} (unreleased)" or have a date, as (2026-01-31)`]
  const entries = section.match(/^- /gm) ?? []
  const inside = section.match(/\b(?:server|client|token)\/src\b|\btest\/\S*|(?<=\s)#\d+\b/g) ?? []
  return [
    ...(entries.length === 0 ? [`CHANGELOG.md lists nothing for ${version}`] : []),
    ...inside.map((what) => `CHANGELOG.md is for users, who do not know ${what}`),
    ...(values.final && date === "unreleased" ? [`CHANGELOG.md has no date for ${version}`] : []),
  ]
}

function commit() {
  const tagged = git("tag", "--list", `v${version}`) && git("rev-parse", `v${version}^{commit}`)
  return [
    ...(git("status", "--porcelain") === "" ? [] : ["some files are not committed"]),
    ...(tagged === "" || tagged === git("rev-parse", "HEAD") ? [] : [`v${version} is the tag of another commit`]),
  ]
}
