// Fails if the registry has an advisory of high or critical severity about a production dependency of the published
// packages. If the registry does not answer, prints that and succeeds. `audit.js [ROOT]`: tests pass another folder.
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { readWorkspaces } from "./lock.js"

const root = process.argv[2] ?? fileURLToPath(new URL("../..", import.meta.url))
const severe = new Set(["high", "critical"])

// In offline mode npm reports that it found nothing, as if it had checked.
if (npm("config", "get", "offline").stdout.trim() === "true") console.log("audit: not done, npm is offline")
else {
  const folders = readWorkspaces(root).map(({ folder }) => `--workspace=${folder}`)
  const answer = npm("audit", "--json", "--omit=dev", "--fetch-retries=0", "--fetch-timeout=20000", ...folders)
  judge(JSON.parse(answer.stdout || "{}"), answer.stderr)
}

function judge({ auditReportVersion, vulnerabilities, statusCode, message, error }, complaint) {
  if (auditReportVersion) {
    const found = Object.values(vulnerabilities)
    const bad = found.filter(({ severity }) => severe.has(severity))
    for (const one of bad) console.error(`audit: ${describe(one)}`)
    if (bad.length > 0) process.exitCode = 1
    else console.log(`audit: nothing severe. ${found.map(describe).join("; ")}`.trimEnd())
  } else if (message) {
    const why = statusCode ? `the registry answers ${statusCode}` : "the registry does not answer"
    console.log(`audit: not done, ${why}`)
  } else {
    console.error(`audit: npm failed: ${error?.summary ?? complaint}`)
    process.exitCode = 1
  }
}

/** `via` contains advisories and the names of packages that have advisories. */
function describe({ name, severity, via }) {
  const why = via.map((one) =>
    typeof one === "string" ? `by way of ${one}` : `${one.range} ${one.title} (${one.url})`,
  )
  return `${name}, ${severity}: ${why.join(", ")}`
}

function npm(...args) {
  const run = spawnSync("npm", args, { cwd: root, encoding: "utf8", timeout: 120_000 })
  if (run.error) throw run.error
  return run
}
