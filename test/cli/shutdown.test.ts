import http from "node:http"
import { AuthwireError, createAuthwireClient } from "@authwire/client"
import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import { createDatabase, describeServer, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"

const transports = ["grpc", "http"] as const
const target = serviceDatabase()

describe.each(transports)("SIGTERM under load, through the %s listener", (transport) => {
  test("every call in flight succeeds or fails with UNAVAILABLE, no write is half done, and the server exits with 0", async () => {
    const database = await createDatabase(target)
    const server = await startServer({ databaseUrl: database.url })
    const client =
      transport === "grpc" ? createAuthwireClient({ url: server.grpcUrl }) : createEdgeClient({ url: server.httpUrl })
    const { adapter } = client
    const created: string[] = []
    const deleted: string[] = []
    // Deletions whose response was lost, so that they may have been executed.
    const uncertain = new Set<string>()
    const failures: unknown[] = []
    let calls = 0
    let stopping = false

    // Each caller creates users with child rows and deletes every second user, until its first failure after the
    // signal.
    const worker = async () => {
      for (let round = 0; ; round++) {
        const id = crypto.randomUUID()
        try {
          await adapter.createUser({ id, email: `${id}@example.com`, emailVerified: null })
          created.push(id)
          await adapter.createSession({ sessionToken: id, userId: id, expires: new Date(Date.now() + 60_000) })
          await adapter.linkAccount({ userId: id, type: "oauth", provider: "p", providerAccountId: id })
          calls += 3
          if (round % 2 === 0) continue
          uncertain.add(id)
          await adapter.deleteUser(id)
          uncertain.delete(id)
          deleted.push(id)
        } catch (error) {
          failures.push(error)
          if (stopping) return
        }
      }
    }
    const workers = Array.from({ length: 20 }, worker)
    while (calls < 300) await new Promise((resolve) => setImmediate(resolve))
    stopping = true
    expect(await server.stop("SIGTERM")).toBe(0)
    await Promise.all(workers)
    client.close()

    expect(failures.length).toBeGreaterThan(0)
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(AuthwireError)
      expect((failure as AuthwireError).code).toBe("UNAVAILABLE")
    }
    // Confirmed users exist, deleted users do not, and no child row is left without its user.
    const ids = new Set((await database.query("SELECT id FROM users")).map(({ id }) => String(id)))
    for (const id of deleted) expect(ids.has(id)).toBe(false)
    const undeleted = new Set(created).difference(new Set(deleted))
    expect([...undeleted].filter((id) => !ids.has(id) && !uncertain.has(id))).toEqual([])
    for (const table of ["sessions", "accounts"]) {
      const orphans = await database.query(
        `SELECT COUNT(*) AS n FROM ${table} LEFT JOIN users ON users.id = ${table}.user_id WHERE users.id IS NULL`,
      )
      expect(Number(orphans[0]?.n)).toBe(0)
    }
    await database.drop()
  })
})

describeServer("SIGTERM while a call waits for a lock", (target) => {
  test("the call finishes, and an idle HTTP/1.1 connection still gets one last response", async () => {
    const database = await createDatabase(target)
    const server = await startServer({ databaseUrl: database.url })
    const client = createAuthwireClient({ url: server.grpcUrl, timeoutMs: 20_000 })
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const get = () =>
      new Promise<http.IncomingMessage>((resolve, reject) => {
        const request = http.get(`${server.httpUrl}/healthz`, { agent }, (response) => {
          response.resume().once("end", () => resolve(response))
        })
        request.once("error", reject)
      })
    await get()
    await database.query("BEGIN")
    await database.query(
      "INSERT INTO users (tenant, id, email_key, extra) VALUES ('default', 'other', 'ada@example.com', '{}')",
    )
    await client.adapter.getUser("nobody")
    const creating = client.adapter.createUser({ id: "ada", email: "ada@example.com", emailVerified: null })
    // Sent later on the same connection: when this call is answered, the other call waits in the database.
    await client.adapter.getUser("nobody")

    const stopped = server.stop("SIGTERM")
    while (!server.log().includes("stopping")) await new Promise((resolve) => setImmediate(resolve))
    const last = await get()
    // New connections are no longer accepted, so the response came over the existing one.
    expect([last.statusCode, last.headers.connection]).toEqual([200, "close"])

    await database.query("ROLLBACK")
    expect(await creating).toMatchObject({ id: "ada" })
    expect(await stopped).toBe(0)
    expect(await database.query("SELECT COUNT(*) AS n FROM users")).toEqual([{ n: 1 }])
    client.close()
    agent.destroy()
    await database.drop()
  })

  async function begin(args: string[]) {
    const database = await createDatabase(target)
    const server = await startServer({ databaseUrl: database.url, args })
    const client = createAuthwireClient({ url: server.grpcUrl, timeoutMs: 20_000 })
    await database.query("BEGIN")
    await database.query(
      "INSERT INTO users (tenant, id, email_key, extra) VALUES ('default', 'other', 'ada@example.com', '{}')",
    )
    const creating = Promise.allSettled([
      client.adapter.createUser({ id: "ada", email: "ada@example.com", emailVerified: null }),
    ])
    await client.adapter.getUser("nobody")
    return {
      server,
      async end() {
        await database.query("ROLLBACK")
        const [outcome] = await creating
        client.close()
        await database.drop()
        return outcome
      },
    }
  }
  const unavailable = { status: "rejected", reason: { code: "UNAVAILABLE" } }

  test("after the grace period the call ends with UNAVAILABLE, exit code 0", async () => {
    const { server, end } = await begin(["--shutdown-grace-ms=100"])
    expect(await server.stop("SIGTERM")).toBe(0)
    expect(await end()).toMatchObject(unavailable)
  })

  test("a second signal ends the process at once", async () => {
    const { server, end } = await begin(["--shutdown-grace-ms=600000"])
    process.kill(server.pid, "SIGTERM")
    await until(async () => server.log().includes("stopping"))
    // null because the signal killed it.
    expect(await server.stop("SIGTERM")).toBeNull()
    expect(server.log()).not.toContain("CreateUser")
    expect(await end()).toMatchObject(unavailable)
  })
})
