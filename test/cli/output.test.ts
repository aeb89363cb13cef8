import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { createAuthwireClient } from "@authwire/client"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { outputOf } from "@authwire/test-support/processes/output.js"
import { run, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))

describe("standard output that cannot be written", () => {
  let database: TestDatabase
  let env: Record<string, string>
  const children: ChildProcess[] = []

  beforeAll(async () => {
    database = await createDatabase("sqlite")
    env = { AUTHWIRE_DATABASE_URL: database.url, AUTH_SECRET: testSecret }
    const server = await startServer({ databaseUrl: database.url })
    const client = createAuthwireClient({ url: server.grpcUrl })
    for (const id of ["a", "b"]) await client.users.createUser({ id })
    client.close()
    await server.stop()
  })
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL")
    await database.drop()
  })

  /** Runs a line of bash, in which `authwire` is the command. */
  async function bash(line: string): Promise<{ code: number | null; stderr: string }> {
    const script = `authwire() { "${process.execPath}" "${command}" "$@"; }; set -o pipefail; ${line}`
    const child = spawn("bash", ["-c", script], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
    const output = outputOf(child)
    const [code] = (await once(child, "close")) as [number | null]
    return { code, stderr: output.stderr }
  }

  test.each(["export", "keys create --name=x --scopes=all", "keys list", "migrate status", "--help", "--version"])(
    "%s to a full disk: one line, exit code 1",
    async (words) => {
      const { code, stderr } = await bash(`authwire ${words} >/dev/full`)
      expect(stderr).toBe("authwire: standard output cannot be written (ENOSPC)\n")
      expect(code).toBe(1)
    },
  )

  test("a file of which only a part could be written: exit code 1", async () => {
    const whole = (await run(["export"], env)).stdout
    const file = `${database.url.slice("sqlite:".length)}.export`
    // No file may exceed 64 KiB, which is enough for SQLite. The export gets the last 100 bytes.
    const before = 64 * 1024 - 100
    expect(whole.length).toBeGreaterThan(100)
    const { code, stderr } = await bash(
      `head -c ${before} /dev/zero >'${file}'; ulimit -f 64; authwire export >>'${file}'; code=$?; rm '${file}'; exit $code`,
    )
    expect(stderr).toBe("authwire: standard output cannot be written (EFBIG)\n")
    expect(code).toBe(1)
  })

  test("events tail ends when its reader is gone", async () => {
    const child = spawn(process.execPath, [command, "events", "tail", "--since=1h"], {
      env: { ...process.env, ...env },
    })
    children.push(child)
    child.stdout.destroy()
    const output = outputOf(child)
    const [code] = (await once(child, "close")) as [number | null]
    expect([code, output.stderr]).toEqual([1, ""])
  })
})
