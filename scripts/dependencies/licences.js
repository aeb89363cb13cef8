// Fails if a production dependency of the published packages, or a package that the build bundles in one, has no licence,
// or one that known.json does not allow.
// `licences.js [ROOT]`: tests pass another folder.
import { fileURLToPath } from "node:url"
import { bundledIn, readJson, readWorkspaces } from "./lock.js"

const root = process.argv[2] ?? fileURLToPath(new URL("../..", import.meta.url))
const allowed = new Set(readJson(root, "scripts/dependencies/known.json").licences)
const used = new Set()
const checked = new Set()
const problems = new Set()

for (const { name: workspace, folder, direct, peers, needs } of readWorkspaces(root)) {
  const bundled = bundledIn(root, folder).map(({ identifier, ...one }) => ({ ...one, licence: identifier }))
  for (const { name, version, licence } of [...needs([...direct, ...peers]), ...bundled]) {
    checked.add(`${name}@${version}`)
    if (!licence) problems.add(`${name}@${version} has no licence (needed by ${workspace})`)
    else if (!allows(licence)) problems.add(`${name}@${version} is under ${licence} (needed by ${workspace})`)
  }
}
for (const licence of allowed) if (!used.has(licence)) problems.add(`${licence} is allowed, but no package is under it`)

for (const problem of problems) console.error(`licences: ${problem}`)
if (problems.size > 0) {
  console.error("licences: those that are allowed stand in scripts/dependencies/known.json")
  process.exitCode = 1
} else console.log(`licences: ${checked.size} packages, under ${[...used].sort().join(", ")}`)

/**
 * Whether the allowed licences satisfy an SPDX expression. It supports only one pair of parentheses around the whole
 * expression. An expression that it cannot read is not allowed.
 */
function allows(licence) {
  const expression = licence.replace(/^\(([^()]*)\)$/, "$1")
  const choices = expression.split(" OR ").map((choice) => choice.split(" AND "))
  const choice = choices.find((parts) => parts.every((part) => allowed.has(part)))
  for (const part of choice ?? []) used.add(part)
  return choice !== undefined
}
