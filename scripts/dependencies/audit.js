// Fails if the registry has an advisory of high or critical severity about a production dependency of the published
// packages; with --all, about any package in any lock file of npm in the repository, which includes tools, tests,
// examples and the site. If the registry does not answer, prints that, and succeeds unless --required.
// `audit.js [ROOT]`: tests pass another folder.
import { spawnSync } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { lockFiles, otherLockFiles, readWorkspaces } from "./lock.js"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: "boolean" }, required: { type: "boolean" } },
})
const [root = fileURLToPath(new URL("../..", import.meta.url))] = positionals
const severe = new Set(["high", "critical"])

// In offline mode npm reports that it found nothing, as if it had checked.
if (npm(".", "config", "get", "offline").stdout.trim() === "true") notDone("npm is offline")
else if (values.all) auditAll(lockFiles(root))
else {
  const folders = readWorkspaces(root).map(({ folder }) => `--workspace=${folder}`)
  const unanswered = audit(".", "audit", "--omit=dev", ...folders)
  if (unanswered) notDone(unanswered)
}

function auditAll(locks) {
  for (const [index, lock] of locks.entries()) {
    const unanswered = audit(dirname(lock), `audit: ${lock}`, "--package-lock-only")
    // The other questions would get no answer either.
    if (unanswered) {
      notDone(`${unanswered}: ${locks.slice(index).join(", ")}`)
      break
    }
  }
  console.log(`audit: npm knows nothing of ${otherLockFiles(root).join(", ")}`)
}

/** Asks the registry about the lock file in a folder, and judges the answer. Returns why there is none, if so. */
function audit(folder, title, ...options) {
  const run = npm(folder, "audit", "--json", "--fetch-retries=0", "--fetch-timeout=20000", ...options)
  const { auditReportVersion, vulnerabilities, statusCode, message, error } = JSON.parse(run.stdout || "{}")
  if (auditReportVersion) {
    const found = Object.values(vulnerabilities)
    const bad = found.filter(({ severity }) => severe.has(severity))
    for (const one of bad) console.error(`${title}: ${describe(one)}`)
    if (bad.length > 0) process.exitCode = 1
    else console.log(`${title}: nothing severe. ${found.map(describe).join("; ")}`.trimEnd())
  } else if (message) return statusCode ? `the registry answers ${statusCode}` : "the registry does not answer"
  else {
    console.error(`${title}: npm failed: ${error?.summary ?? run.stderr}`)
    process.exitCode = 1
  }
  return undefined
}

function notDone(why) {
  console.error(`audit: not done, ${why}`)
  if (values.required) process.exitCode = 1
}

/** `via` contains advisories and the names of packages that have advisories. */
function describe({ name, severity, via }) {
  const why = via.map((one) =>
    typeof one === "string" ? `by way of ${one}` : `${one.range} ${one.title} (${one.url})`,
  )
  return `${name}, ${severity}: ${why.join(", ")}`
}

function npm(folder, ...args) {
  const run = spawnSync("npm", args, { cwd: join(root, folder), encoding: "utf8", timeout: 120_000 })
  if (run.error) throw run.error
  return run
}
