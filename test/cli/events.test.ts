import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { outputOf } from "@authwire/test-support/processes/output.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

describe("authwire events tail", () => {
  const children: ChildProcess[] = []

  const authwire = useAuthwire("sqlite")
  beforeAll(async () => {
    await authwire.client.users.createUser({ id: "before" })
  })
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL")
  })

  /** Starts the command, which keeps running. Returns its output so far. */
  function tail(...args: string[]) {
    const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))
    const env = { ...process.env, AUTHWIRE_DATABASE_URL: authwire.database.url }
    const child = spawn(process.execPath, [command, "events", "tail", ...args], { env })
    children.push(child)
    const output = outputOf(child)
    const ended = once(child, "close") as Promise<[number | null]>
    return {
      lines: () => output.stdout.split("\n").slice(0, -1),
      async end() {
        child.kill("SIGINT")
        return (await ended)[0]
      },
    }
  }

  test("prints stored events, then new ones, as lines with ids, until SIGINT", async () => {
    const all = tail("--since=1h")
    await until(async () => all.lines().length === 1)
    await authwire.client.users.createUser({ id: "a\u001b[2J" })
    await authwire.client.users.deleteUser({ id: "before" })
    await until(async () => all.lines().length === 3)
    const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
    expect(all.lines()).toEqual([
      expect.stringMatching(new RegExp(`^${time}  \\d+  user\\.created  user=before$`)),
      expect.stringMatching(new RegExp(`^${time}  \\d+  user\\.created  user=a\\\\u001b\\[2J$`)),
      expect.stringMatching(new RegExp(`^${time}  \\d+  user\\.deleted  user=before$`)),
    ])
    expect(await all.end()).toBe(0)
  })

  test("--after, --kinds and --json", async () => {
    const first = tail("--since=1h", "--json")
    await until(async () => first.lines().length >= 3)
    const [event] = first.lines().map((line) => JSON.parse(line))
    expect(event).toMatchObject({ kind: "user.created", userId: "before", tenant: "default" })
    const rest = tail(`--after=${event.sequence}`, "--kinds=user.deleted", "--json")
    await until(async () => rest.lines().length === 1)
    expect(JSON.parse(rest.lines()[0] as string)).toMatchObject({ kind: "user.deleted", userId: "before" })
    expect([await first.end(), await rest.end()]).toEqual([0, 0])
  })

  test("an unknown tenant is an error, and is also one for export", async () => {
    const env = { AUTHWIRE_DATABASE_URL: authwire.database.url, AUTH_SECRET: testSecret }
    for (const command of [["events", "tail"], ["export"]]) {
      const { code, stderr } = await run([...command, "--tenant=nobody"], env)
      expect(stderr).toMatch(/^authwire: there is no tenant nobody: create it with: authwire tenants create nobody$/m)
      expect(code).toBe(1)
    }
  })
})
