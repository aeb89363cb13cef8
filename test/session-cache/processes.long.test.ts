import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { SessionService } from "@authwire/proto"
import { createDatabase, describeServer, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals"

const program = fileURLToPath(new URL("./reader.ts", import.meta.url))

interface Reader {
  readonly child: ChildProcess
  /** The start time and the result of each read. */
  readonly reads: { begun: number; got: string; from: string }[]
}

// Two replicas, clients in separate processes, and the failures that the property test only simulates: SIGSTOP and kill
// -9.
describeServer("session caches in frozen and killed processes", (target) => {
  let database: TestDatabase
  let one: ServerProcess
  let two: ServerProcess
  let client: AuthwireClient
  let userId: string
  const readers: Reader[] = []

  beforeAll(async () => {
    database = await createDatabase(target)
    one = await startServer({ databaseUrl: database.url })
    two = await startServer({ databaseUrl: database.url })
    client = createAuthwireClient({ url: one.grpcUrl, timeoutMs: 10_000 })
    const user = { id: crypto.randomUUID(), name: "Ada", email: "ada@example.com", emailVerified: null }
    userId = (await client.adapter.createUser(user)).id
  })
  afterEach(async () => {
    for (const { child } of readers.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill("SIGKILL")
      await once(child, "close")
    }
  })
  afterAll(async () => {
    client.close()
    await one.stop()
    await two.stop("SIGKILL")
    await database.drop()
  })

  async function signedIn(): Promise<string> {
    const sessionToken = crypto.randomUUID()
    await client.adapter.createSession({ sessionToken, userId, expires: new Date(Date.now() + 3_600_000) })
    return sessionToken
  }

  /** Starts a client, and waits until it answers from its cache. */
  async function reader(server: ServerProcess, sessionToken: string, maxStaleMs = 1_000): Promise<Reader> {
    const args = ["--no-warnings", program, server.grpcUrl, sessionToken, String(maxStaleMs)]
    const child = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NODE_OPTIONS: "" },
    })
    const found: Reader = { child, reads: [] }
    readers.push(found)
    let rest = ""
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) {
        const [begun, got = "", from = ""] = line.split(" ")
        found.reads.push({ begun: Number(begun), got, from })
      }
    })
    await until(() => found.reads.at(-1)?.from === "memory")
    return found
  }

  /** Returns the reads that began after a moment and still found the session. */
  const lateOf = ({ reads }: Reader, after: number) =>
    reads
      .filter(({ begun, got }) => begun > after && got === "somebody")
      .map(({ begun, from }) => `${begun - after} ms after, from ${from}`)

  /** Waits for several reads that began after a moment. */
  const readsAfter = ({ reads }: Reader, after: number) =>
    until(() => reads.filter(({ begun, got }) => begun > after && got !== "failed").length > 20)

  async function revoke(sessionToken: string, awaitCaches = true) {
    const begun = performance.now()
    await client.sessions.deleteSession({ sessionToken, awaitCaches })
    return { at: Date.now(), tookMs: performance.now() - begun }
  }

  test("with await_caches none of six clients of two replicas finds the session afterwards", async () => {
    const sessionToken = await signedIn()
    const all = await Promise.all([one, two, one, two, one, two].map((server) => reader(server, sessionToken)))
    const { at, tookMs } = await revoke(sessionToken)
    for (const each of all) {
      await readsAfter(each, at)
      expect(lateOf(each, at)).toEqual([])
    }
    // Shorter than their leases, so all clients have confirmed.
    expect(tookMs).toBeLessThan(5_000)
  })

  test.each([
    ["for less than its lease", 400],
    ["for longer", 3_000],
    ["for much longer", 6_000],
  ])("a client that is frozen %s is waited for, and does not find the session when it wakes", async (_, ms) => {
    const sessionToken = await signedIn()
    const [frozen, other] = await Promise.all([reader(two, sessionToken), reader(one, sessionToken)])
    frozen.child.kill("SIGSTOP")
    const woken = delay(ms).then(() => frozen.child.kill("SIGCONT"))
    const { at } = await revoke(sessionToken)
    await woken
    for (const each of [frozen, other]) {
      await readsAfter(each, at)
      expect(lateOf(each, at)).toEqual([])
    }
  })

  test("without await_caches a frozen client does not find the session either after its lease has expired", async () => {
    const sessionToken = await signedIn()
    const frozen = await reader(two, sessionToken)
    frozen.child.kill("SIGSTOP")
    const { at } = await revoke(sessionToken, false)
    await delay(1_200)
    frozen.child.kill("SIGCONT")
    await readsAfter(frozen, at + 1_000)
    expect(lateOf(frozen, at + 1_000)).toEqual([])
  })

  test("a frozen replica is waited for as long as its clients' leases, and sends no outdated data when it wakes", async () => {
    const sessionToken = await signedIn()
    const [ofFrozen, other] = await Promise.all([reader(two, sessionToken), reader(one, sessionToken)])
    process.kill(two.pid, "SIGSTOP")
    const { at, tookMs } = await revoke(sessionToken)
    expect(tookMs).toBeLessThan(5_000)
    await delay(500)
    process.kill(two.pid, "SIGCONT")
    for (const each of [ofFrozen, other]) {
      await readsAfter(each, at)
      expect(lateOf(each, at)).toEqual([])
    }
  })

  test("a replica is killed with -9: its clients are waited for", async () => {
    const sessionToken = await signedIn()
    const [ofKilled, other] = await Promise.all([reader(two, sessionToken), reader(one, sessionToken)])
    await two.stop("SIGKILL")
    const { at, tookMs } = await revoke(sessionToken)
    expect(tookMs).toBeLessThan(5_000)
    await readsAfter(other, at)
    for (const each of [ofKilled, other]) expect(lateOf(each, at)).toEqual([])
    two = await startServer({ databaseUrl: database.url })
  })

  // This test is the last one, because later tests would wait for its lease.
  test("an earlier deadline is reported exactly: deleted, but not confirmed", async () => {
    const sessionToken = await signedIn()
    // Its lease is longer than the deadline on any machine, and the deadline is longer than the deletion.
    const frozen = await reader(two, sessionToken, 10_000)
    frozen.child.kill("SIGSTOP")
    // Only the service gets the deadline, because a client's own timer could end the call before the response.
    const sessions = createClient(SessionService, createGrpcTransport({ baseUrl: one.grpcUrl }))
    const error = await sessions
      .deleteSession({ sessionToken, awaitCaches: true }, { headers: { "grpc-timeout": "5000m" } })
      .catch((error: unknown) => error)
    expect(error).toMatchObject({
      message: expect.stringContaining("the call has done its work, but not every client has confirmed"),
    })
    expect(await database.query("SELECT * FROM sessions WHERE user_id = ?", [userId])).toEqual([])
    frozen.child.kill("SIGCONT")
  })
})
