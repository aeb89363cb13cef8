import { globSync, readFileSync, rmSync } from "node:fs"

/** Stops every server that this run started, including those that a test left running, and prints what was left out. */
export default function teardown() {
  const folder = process.env.AUTHWIRE_TEST_RUN_FOLDER
  for (const pidFile of globSync(`${folder}/*/authwire-test.pid`)) {
    try {
      const [pid, signal = "SIGKILL"] = readFileSync(pidFile, "utf8").split(" ")
      process.kill(Number(pid), signal)
    } catch (error) {
      if (error.code !== "ESRCH") throw error
    }
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  if (globalThis.authwireTestLeftOut.length > 0) console.log(globalThis.authwireTestLeftOut.join("\n"))
}
