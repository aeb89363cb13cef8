import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { codeBelow } from "@authwire/test-support/applications/pages.js"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { describe, expect, test } from "@jest/globals"

describe("the README", () => {
  const authwire = useAuthwire("sqlite")
  const adjusted = (text: string) =>
    text
      .replaceAll("127.0.0.1:50051", new URL(authwire.server.grpcUrl).host)
      .replaceAll("127.0.0.1:8080", new URL(authwire.server.httpUrl).host)

  const commands = codeBelow("README.md", "Look inside").flatMap((block) => block.trim().split("\n"))
  const runnable = commands.filter((command) => hasTool(command.split(" ", 1)[0] as string))
  // Part of the expected output of each command.
  const printed: [command: RegExp, output: RegExp][] = [
    [
      /50051 list$/,
      /^authwire\.v1\.AccountService$[\s\S]*^authwire\.v1\.UserService$[\s\S]*^grpc\.health\.v1\.Health$/m,
    ],
    [/describe/, /\/\/ Creates a user and returns it\. Atomic\.[\s\S]*rpc CreateUser/],
    [/^grpcurl .*CreateUser$/, /"email": "alan@example\.com"[\s\S]*"role": "admin"/],
    [/^grpcurl .*GetUserByEmail$/, /"name": "Alan"/],
    [/Health\/Check$/, /"status": "SERVING"/],
    [/8080 list$/, /^authwire\.v1\.UserService$/m],
    [/^curl .*CreateUser$/, /"email":"grace@example\.com"/],
    [/^curl .*GetUserByEmail$/, /"name":"Grace"/],
    [/healthz$/, /^ok$/m],
    [/readyz$/, /^ready$/m],
  ]

  test("has an expected output for every command", () => {
    expect(commands.map((command) => printed.filter(([pattern]) => pattern.test(command)).length)).toEqual(
      commands.map(() => 1),
    )
  })

  // In the order of the README, because later commands read what earlier commands of the same program wrote.
  ;(runnable.length > 0 ? test.each(runnable) : test.skip.each(["grpcurl, curl"]))("%s", async (command) => {
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", adjusted(command)])
    expect(stdout).toMatch(printed.find(([pattern]) => pattern.test(command))?.[1] as RegExp)
  })
})
