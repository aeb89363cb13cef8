import { globSync, readFileSync, rmSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"

/** How long a server may take to end, in milliseconds. */
const endMs = 10_000

/** Stops every server that this run started, including those that a test left running, and prints what was left out. */
export default async function teardown() {
  const folder = process.env.AUTHWIRE_TEST_RUN_FOLDER
  const pids = []
  for (const pidFile of globSync(`${folder}/*/authwire-test.pid`)) {
    try {
      const [pid, signal = "SIGKILL"] = readFileSync(pidFile, "utf8").split(" ")
      process.kill(Number(pid), signal)
      pids.push(Number(pid))
    } catch (error) {
      if (error.code !== "ESRCH") throw error
    }
  }
  // A server that is ending still writes files, and Node then leaves the folder where it is, without an error.
  const deadline = Date.now() + endMs
  while (pids.some(isRunning) && Date.now() < deadline) await delay(20)
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  if (globalThis.authwireTestLeftOut.length > 0) console.log(globalThis.authwireTestLeftOut.join("\n"))
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
