import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, globSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"

/** A benchmark that does nothing: its server runs in a group, if this machine allows that. */
const program = `
import { memoryGroup } from "./memory-group.ts"
import { startAuthwire } from "../servers/processes.ts"
const group = memoryGroup(512 * 2 ** 20)
const start = () => startAuthwire("sqlite::memory:", { args: ["--migrate"] })
const { pid } = await (group === undefined ? start() : group.within(start))
console.log(pid)
setInterval(() => {}, 1_000)
`

test.each(["SIGINT", "SIGTERM"] as const)("%s leaves neither the server nor its group behind", async (signal) => {
  const bench = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    stdio: ["ignore", "pipe", "inherit"],
  })
  const exit = once(bench, "exit")
  const [pid] = await once(createInterface(bench.stdout), "line")
  bench.kill(signal)
  expect((await exit)[0]).toBe(signal === "SIGINT" ? 130 : 143)
  await until(() => !existsSync(`/proc/${pid}`))
  expect(globSync(`/sys/fs/cgroup/{,memory/}authwire-${bench.pid}`)).toEqual([])
})
