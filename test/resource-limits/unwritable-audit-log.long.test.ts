import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { type AuthwireError, createAuthwireClient } from "@authwire/client"
import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import { healthAnswers } from "@authwire/test-support/connections/health.js"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { hasMountNamespaces, smallDisk } from "@authwire/test-support/machine/small-disk.js"
import { unreadPipe } from "@authwire/test-support/machine/unread-pipe.js"
import { logOf } from "@authwire/test-support/processes/log.js"
import { run, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"

const later = endsAfterEach()
const folder = () => mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "audit-"))
const auditOf = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event === "audit")

async function start(args: string[], prefix: readonly string[] = []) {
  const database = await createDatabase("sqlite")
  later(database.drop)
  const server = await startServer({ databaseUrl: database.url, keys: true, prefix, args: ["--rate-limit=0", ...args] })
  later(() => server.stop("SIGKILL"))
  const grpc = createAuthwireClient({ url: server.grpcUrl, apiKey: server.apiKey })
  later(async () => grpc.close())
  const http = createEdgeClient({ url: server.httpUrl, apiKey: server.apiKey })
  return { database, server, grpc, http }
}

type Started = Awaited<ReturnType<typeof start>>

/** Writes at both listeners, twelve at a time, until both reject writes or `most` succeeded. Returns the outcomes. */
async function write({ grpc, http }: Started, most: number) {
  const done: string[] = []
  const failures: AuthwireError[] = []
  const writer = async (client: Pick<Started["grpc"], "adapter">) => {
    while (done.length < most) {
      const id = crypto.randomUUID()
      try {
        await client.adapter.createUser({ id, email: `${id}@example.com`, emailVerified: null })
        done.push(id)
      } catch (error) {
        failures.push(error as AuthwireError)
        return
      }
    }
  }
  await Promise.all([...Array.from({ length: 11 }, () => grpc), http].map(writer))
  return { done, failures }
}

const rejection = { code: "UNAVAILABLE", reason: "AUDIT_LOG_UNAVAILABLE" }

describe("S-50: --audit-log-failure=reject", () => {
  const reject = "--audit-log-failure=reject"

  /** Checks that every existing user has a line in the audit log. */
  async function allTold({ database }: Started, lines: Record<string, unknown>[]): Promise<void> {
    const users = (await database.query("SELECT id FROM users")).map(({ id }) => String(id))
    const told = lines.filter(({ code }) => code === "OK").map(({ subject }) => subject)
    expect(told.toSorted()).toEqual(users.toSorted())
  }

  test("standard error is not read: writes are rejected without effect, reads are answered, no line is lost", async () => {
    const pipe = unreadPipe()
    later(async () => pipe.close())
    const started = await start([reject, "--log-level=silent"], pipe.prefix)
    const { server, grpc, http, database } = started
    const { done, failures } = await write(started, 50_000)
    expect(failures).toHaveLength(12)
    for (const failure of failures) expect(failure).toMatchObject(rejection)
    for (const { adapter } of [grpc, http]) {
      await expect(adapter.deleteUser(done[0] as string)).rejects.toMatchObject(rejection)
      expect(await adapter.getUser(done[0] as string)).toMatchObject({ id: done[0] })
    }
    expect(await database.query("SELECT count(*) AS count FROM users")).toEqual([{ count: done.length }])
    expect(new Set(await healthAnswers(server, 2))).toEqual(new Set(["SERVING"]))

    const reading = setInterval(pipe.read, 10)
    later(async () => clearInterval(reading))
    await until(async () => {
      const outcome = await write(started, 1)
      done.push(...outcome.done)
      return outcome.failures.length === 0
    })
    await until(() => auditOf(pipe.read()).some(({ subject }) => subject === done.at(-1)))
    expect(pipe.read()).not.toContain("audit-lost")
    expect(await server.stop()).toBe(0)
    await allTold(started, auditOf(pipe.read()))
  })

  const withDisk = hasMountNamespaces() ? test : test.skip

  withDisk("the disk is full: the same, and the log reports it once", async () => {
    const disk = smallDisk(folder())
    const started = await start([reject, `--audit-log=${disk.path}/log`], disk.prefix)
    const { server, grpc, http } = started
    const { done, failures } = await write(started, 50_000)
    expect(done.length).toBeGreaterThan(50)
    expect(failures).toHaveLength(12)
    for (const failure of failures) expect(failure).toMatchObject(rejection)
    for (const { adapter } of [grpc, http]) {
      await expect(adapter.deleteUser("nobody")).rejects.toMatchObject(rejection)
      expect(await adapter.getUser(done[0] as string)).toMatchObject({ id: done[0] })
    }
    const says = (message: string) => logOf(server).filter(({ msg }) => msg === message)
    expect(says("the audit log cannot be written")).toMatchObject([{ err: { code: "ENOSPC" } }])

    const inside = `/proc/${server.pid}/root${disk.path}`
    rmSync(`${inside}/filler`)
    await until(() => says("the audit log can be written again").length > 0)
    const after = await write(started, 1)
    expect(after).toMatchObject({ failures: [] })
    const lines = () => auditOf(readFileSync(`${inside}/log`, "utf8"))
    await until(() => after.done.every((id) => lines().some(({ subject }) => subject === id)))
    await allTold(started, lines())
    expect(says("the audit log cannot be written")).toHaveLength(1)
  })

  test("is invalid without an audit log", async () => {
    const env = {
      AUTH_SECRET: testSecret,
      AUTHWIRE_DATABASE_URL: `sqlite:${folder()}/db`,
      AUTHWIRE_AUDIT_LOG_FAILURE: "reject",
    }
    const { code, stderr } = await run(["serve", "--audit-log=off"], env)
    const message = "authwire: AUTHWIRE_AUDIT_LOG_FAILURE: reject needs an audit log, but --audit-log is off\n"
    expect({ code, stderr }).toEqual({ code: 2, stderr: message })
  })
})

test("by default, writes succeed while the audit log cannot be written, and the log reports that once", async () => {
  const started = await start(["--audit-log=/dev/full"])
  const { done, failures } = await write(started, 500)
  expect({ done: done.length >= 500, failures }).toEqual({ done: true, failures: [] })
  const says = () => logOf(started.server).filter(({ msg }) => String(msg).startsWith("the audit log"))
  await until(() => says().length > 0)
  expect(says()).toMatchObject([{ msg: "the audit log cannot be written", err: { code: "ENOSPC" } }])
  expect(await started.server.stop()).toBe(0)
  expect(says()).toHaveLength(1)
})

test("a named pipe without a reader is an error: one line, exit code 1", async () => {
  const { path, close } = unreadPipe()
  close()
  const env = { AUTH_SECRET: testSecret, AUTHWIRE_DATABASE_URL: `sqlite:${join(folder(), "db")}` }
  const args = ["serve", "--migrate", "--grpc-addr=127.0.0.1:0", "--http-addr=off", "--log-level=silent"]
  const { code, stderr } = await run([...args, `--audit-log=${path}`], env)
  expect({ code, stderr }).toEqual({ code: 1, stderr: `authwire: --audit-log: cannot open ${path} (ENXIO)\n` })
})
