import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { createAuthwireClient } from "@authwire/client"
import { startAuthwire, type TestService } from "@authwire/server/testing"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))
const run = promisify(execFile)

const accepts = (url: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1")
    socket.once("error", () => resolve(false))
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
  })

const countOf = async (service: TestService) => {
  const client = createAuthwireClient(service)
  try {
    return (await client.users.countUsers({})).count
  } finally {
    client.close()
  }
}

describe("startAuthwire of @authwire/server/testing", () => {
  test("starts a service with an empty database that takes its key only, until it is stopped", async () => {
    process.env.AUTHWIRE_DATABASE_URL = "sqlite:/no/such/folder/of-the-application.db"
    let url = ""
    {
      await using service = await startAuthwire()
      await using other = await startAuthwire({ scopes: ["users:read"] })
      url = service.url
      const { users, close } = createAuthwireClient(service)
      await users.createUser({ email: "ada@example.com" })
      close()
      expect([await countOf(service), await countOf(other)]).toEqual([1, 0])
      const keyless = createAuthwireClient({ url: service.url })
      const reader = createAuthwireClient(other)
      await expect(keyless.adapter.getUser("u")).rejects.toMatchObject({ reason: "API_KEY_MISSING" })
      await expect(reader.adapter.deleteUser("u")).rejects.toMatchObject({ reason: "SCOPE_MISSING" })
      keyless.close()
      reader.close()
      expect((await fetch(`${service.httpUrl}/authwire.v1.UserService/CountUsers`)).status).not.toBe(200)
      await other.stop()
    }
    delete process.env.AUTHWIRE_DATABASE_URL
    expect(await accepts(url)).toBe(false)
  })

  test("rejects with what the service says if it does not start", async () => {
    await expect(startAuthwire({ args: ["--no-such-option"] })).rejects.toThrow(
      "authwire serve did not start: authwire: unknown option --no-such-option",
    )
  })

  test("a process that forgets its service ends, and the service ends with it, also when it is killed", async () => {
    const source = (after: string) => `
      const { startAuthwire } = require("@authwire/server/testing")
      startAuthwire().then(({ url }) => { console.log(url); ${after} })`
    const { stdout } = await run(process.execPath, ["-e", source("")], { cwd: root })
    await until(async () => !(await accepts(stdout.trim())))
    const child = spawn(process.execPath, ["-e", source("setInterval(() => {}, 1000)")], { cwd: root })
    const [url] = (await once(child.stdout, "data")) as [Buffer]
    expect(await accepts(String(url).trim())).toBe(true)
    child.kill("SIGKILL")
    await until(async () => !(await accepts(String(url).trim())))
  })

  // In this repository, so that the dependencies are found.
  describe("of the packed package", () => {
    let folder = ""
    beforeAll(async () => {
      mkdirSync(join(root, "build"), { recursive: true })
      folder = mkdtempSync(join(root, "build/packed-"))
      const packed = join(folder, "node_modules/@authwire/server")
      mkdirSync(packed, { recursive: true })
      const pack = ["pack", "--ignore-scripts", "--pack-destination", folder, "--workspace", "server"]
      const { stdout } = await run("npm", pack, { cwd: root })
      await run("tar", ["xzf", join(folder, stdout.trim()), "--strip-components=1"], { cwd: packed })
      writeFileSync(join(folder, "package.json"), "{}")
    })
    afterAll(() => rmSync(folder, { recursive: true, force: true }))

    test.each([
      ["CommonJS", "service.test.cjs", `const { startAuthwire } = require("@authwire/server/testing")`],
      ["ES modules", "service.test.mjs", `import { startAuthwire } from "@authwire/server/testing"`],
    ])("works in jest with %s", async (_, file, line) => {
      writeFileSync(
        join(folder, file),
        `${line}
        test("a user", async () => {
          const { url, httpUrl, apiKey, stop } = await startAuthwire()
          const headers = { authorization: "Bearer " + apiKey, "content-type": "application/json" }
          const response = await fetch(httpUrl + "/authwire.v1.UserService/CountUsers", { method: "POST", headers, body: "{}" })
          expect([response.status, new URL(url).hostname]).toEqual([200, "127.0.0.1"])
          await stop()
        })`,
      )
      const config = JSON.stringify({
        rootDir: folder,
        testMatch: [join(folder, file)],
        transform: {},
        testTimeout: 60_000,
      })
      const args = [
        "--experimental-vm-modules",
        "--no-warnings",
        join(root, "node_modules/jest/bin/jest.js"),
        "--config",
        config,
      ]
      const { stderr } = await run(process.execPath, args, { cwd: folder, env: { ...process.env, NODE_OPTIONS: "" } })
      expect(stderr).toContain("1 passed")
    })
  })
})
