import { execFile } from "node:child_process"
import { globSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { blocksOf } from "@authwire/test-support/applications/pages.js"
import { hasSite, site } from "@authwire/test-support/applications/site.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))
const pages = globSync("docs/start/*.md", { cwd: root })
const commands = pages
  .flatMap(blocksOf)
  .filter(({ language }) => language === "sh")
  .flatMap(({ code }) => code.trim().split("\n"))
const asks = [...new Set(commands)].filter((command) => /^(curl|grpcurl) /.test(command))

describe("the quick starts", () => {
  let authwire: Authwire
  beforeAll(async () => {
    authwire = await startAuthwire("sqlite")
  })
  afterAll(() => authwire.close())

  test("start the service, install packages, create keys, and make calls", () => {
    expect(
      commands.filter(
        (command) =>
          !/^(make -C authwire (packages|run)$|npm install |npx create-next-app@|cd |echo |curl |grpcurl )/.test(
            command,
          ),
      ),
    ).toEqual([])
    expect(asks.length).toBeGreaterThan(2)
  })

  const runnable = asks.filter((command) => hasTool(command.split(" ", 1)[0] as string))
  ;(runnable.length > 0 ? test.each(runnable) : test.skip.each(["grpcurl, curl"]))("%s", async (command) => {
    const here = command
      .replaceAll("127.0.0.1:50051", new URL(authwire.server.grpcUrl).host)
      .replaceAll("127.0.0.1:8080", new URL(authwire.server.httpUrl).host)
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", here])
    expect(stdout).toMatch(/GetSessionAndUser|Introspect|rpc GetToken|"none"|\{\}/)
  })
})

const withSite = hasSite() ? test : test.skip

withSite(
  "every block of TypeScript in the quick starts compiles unchanged",
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["check-code.js"], { cwd: site })
    expect(stdout).toMatch(/^\d+ blocks of \d+ pages compile$/m)
  },
  300_000,
)
