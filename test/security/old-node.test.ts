import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { oldNode } from "@authwire/test-support/machine/old-node.js"
import { expect, test } from "@jest/globals"

const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))
const program = oldNode()

const onOldNode = program === undefined ? test.skip : test

onOldNode.each([["--version"], ["serve", "--dev", "--grpc-addr=127.0.0.1:0", "--http-addr=off"]])(
  "a Node that is too old is reported in one line, and nothing is done: authwire %s",
  (...args) => {
    const cwd = mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "old-node-"))
    const version = execFileSync(program as string, ["--version"], { encoding: "utf8" })
      .trim()
      .slice(1)
    const { status, stdout, stderr } = spawnSync(program as string, [command, ...args], { cwd, encoding: "utf8" })
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: "",
      stderr: `authwire: needs Node 22 or newer; this is ${version}\n`,
    })
    expect(existsSync(join(cwd, ".authwire"))).toBe(false)
  },
)

test("the first Node of the oldest supported version suffices, which has no URL.parse", () => {
  const cwd = mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "first-node-"))
  const status = (url: string) => [command, "migrate", "status", `--database-url=${url}`]
  const run = (url: string) =>
    spawnSync(process.execPath, ["--import", "data:text/javascript,delete URL.parse", ...status(url)], {
      cwd,
      encoding: "utf8",
      env: { PATH: process.env.PATH },
    })
  writeFileSync(join(cwd, "empty.db"), "")
  expect(run("sqlite:empty.db")).toMatchObject({ status: 0, stderr: "" })
  expect(run("postgres:").stderr).toMatch(/^authwire: --database-url: the database URL must be /)
})
