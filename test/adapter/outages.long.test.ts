import { type AuthwireAdapter, AuthwireError, createAuthwireClient } from "@authwire/client"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@authwire/proto/health"
import {
  createDatabase,
  createDatabaseOn,
  ownServer,
  startPrivateDatabase,
  tcpProxy,
  testOnServer,
} from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

type Adapter = ReturnType<typeof AuthwireAdapter>

const expires = new Date(Date.now() + 3_600_000)
const key = { provider: "p", providerAccountId: "a" }
// One call of each of the 19 methods. Methods that return null for a missing row are called for a missing row.
const calls: Record<keyof Adapter & string, (adapter: Adapter) => unknown> = {
  createUser: (adapter) => adapter.createUser({ id: crypto.randomUUID(), email: "", emailVerified: null }),
  getUser: (adapter) => adapter.getUser("nobody"),
  getUserByEmail: (adapter) => adapter.getUserByEmail("nobody@example.com"),
  getUserByAccount: (adapter) => adapter.getUserByAccount(key),
  updateUser: (adapter) => adapter.updateUser({ id: "nobody", name: "x" }),
  deleteUser: (adapter) => adapter.deleteUser("nobody"),
  linkAccount: (adapter) => adapter.linkAccount({ ...key, userId: "nobody", type: "oauth" }),
  unlinkAccount: (adapter) => adapter.unlinkAccount(key),
  getAccount: (adapter) => adapter.getAccount("a", "p"),
  createSession: (adapter) => adapter.createSession({ sessionToken: crypto.randomUUID(), userId: "nobody", expires }),
  getSessionAndUser: (adapter) => adapter.getSessionAndUser("none"),
  updateSession: (adapter) => adapter.updateSession({ sessionToken: "none", expires }),
  deleteSession: (adapter) => adapter.deleteSession("none"),
  createVerificationToken: (adapter) =>
    adapter.createVerificationToken({ identifier: "i", token: crypto.randomUUID(), expires }),
  useVerificationToken: (adapter) => adapter.useVerificationToken({ identifier: "i", token: "none" }),
  createAuthenticator: (adapter) =>
    adapter.createAuthenticator({
      credentialID: crypto.randomUUID(),
      userId: "nobody",
      providerAccountId: "a",
      credentialPublicKey: "k",
      counter: 0,
      credentialDeviceType: "singleDevice",
      credentialBackedUp: false,
    }),
  getAuthenticator: (adapter) => adapter.getAuthenticator("none"),
  listAuthenticatorsByUserId: (adapter) => adapter.listAuthenticatorsByUserId("nobody"),
  updateAuthenticatorCounter: (adapter) => adapter.updateAuthenticatorCounter("none", 1),
}

/** Returns the outcome of each of the 19 calls: the code of its rejection, or what it resolved to. */
async function outcomes(adapter: Adapter): Promise<Record<string, string>> {
  const entries = await Promise.all(
    Object.entries(calls).map(async ([name, call]) => {
      try {
        return [name, `resolved to ${JSON.stringify(await call(adapter))}`] as const
      } catch (error) {
        return [name, error instanceof AuthwireError ? error.code : String(error)] as const
      }
    }),
  )
  return Object.fromEntries(entries)
}
const all = (outcome: string) => Object.fromEntries(Object.keys(calls).map((name) => [name, outcome]))

test("the table has the 19 methods of the contract", () => {
  expect(Object.keys(calls)).toHaveLength(19)
})

describe("with the server", () => {
  let server: ServerProcess
  let drop: () => Promise<void>
  beforeAll(async () => {
    const database = await createDatabase("sqlite")
    drop = database.drop
    server = await startServer({ databaseUrl: database.url })
  })
  afterAll(() => drop())

  test("S-30: stopped, every method rejects with UNAVAILABLE", async () => {
    const client = createAuthwireClient({ url: server.grpcUrl })
    expect(await client.adapter.getUser("nobody")).toBeNull()
    expect(await server.stop()).toBe(0)
    expect(await outcomes(client.adapter)).toEqual(all("UNAVAILABLE"))
    client.close()
  })
})

async function watchHealth(server: ServerProcess) {
  const health = createClient(Health, createGrpcTransport({ baseUrl: server.grpcUrl }))
  return {
    async until(status: Status) {
      const watch = new AbortController()
      try {
        for await (const answer of health.watch({}, { signal: watch.signal })) if (answer.status === status) return
        throw new Error("the health stream ended")
      } finally {
        watch.abort()
      }
    },
    check: async () => (await health.check({})).status,
    ready: async () => (await fetch(`${server.httpUrl}/readyz`)).status,
    alive: async () => (await fetch(`${server.httpUrl}/healthz`)).status,
  }
}

describe("with the database", () => {
  testOnServer(
    "killed, every method rejects with UNAVAILABLE; after a restart, the server and its health recover",
    async (later, target) => {
      const engine = await startPrivateDatabase(target)
      if (engine === null) throw new Error("no such server")
      later(engine.remove)
      const database = await createDatabaseOn(engine)
      const server = await startServer({ databaseUrl: database.url })
      const client = createAuthwireClient({ url: server.grpcUrl })
      const health = await watchHealth(server)
      const user = await client.adapter.createUser({ id: "ada", email: "ada@example.com", emailVerified: null })
      expect([await health.check(), await health.ready()]).toEqual([Status.SERVING, 200])

      await engine.kill()
      expect(await outcomes(client.adapter)).toEqual(all("UNAVAILABLE"))
      await health.until(Status.NOT_SERVING)
      expect([await health.ready(), await health.alive()]).toEqual([503, 200])

      await engine.start()
      await health.until(Status.SERVING)
      expect(await health.ready()).toBe(200)
      expect(await client.adapter.getUserByEmail("ada@example.com")).toEqual(user)
      expect(await outcomes(client.adapter)).toEqual(outcomesWhenAllIsWell)
      client.close()
      expect(await server.stop()).toBe(0)
    },
    ownServer(),
  )
})

describe("with the network to the database", () => {
  testOnServer(
    "cut off or silent, every method rejects; after the outage, the server recovers",
    async (later, target) => {
      const database = await createDatabase(target)
      later(database.drop)
      const url = new URL(database.url)
      const proxy = await tcpProxy(Number(url.port || 3306))
      later(proxy.close)
      url.host = `127.0.0.1:${proxy.port}`
      const server = await startServer({ databaseUrl: url.href, args: ["--database-statement-timeout-ms=3000"] })
      const client = createAuthwireClient({ url: server.grpcUrl })
      const health = await watchHealth(server)
      later(async () => {
        client.close()
        proxy.restore()
        expect(await server.stop()).toBe(0)
      })
      expect(await outcomes(client.adapter)).toEqual(outcomesWhenAllIsWell)
      proxy.cut()
      expect(await outcomes(client.adapter)).toEqual(all("UNAVAILABLE"))
      await health.until(Status.NOT_SERVING)
      proxy.restore()
      await health.until(Status.SERVING)
      expect(await outcomes(client.adapter)).toEqual(outcomesWhenAllIsWell)

      proxy.hang()
      const silent = await outcomes(client.adapter)
      for (const [name, outcome] of Object.entries(silent)) {
        expect(`${name} ${outcome}`).toMatch(/ (DEADLINE_EXCEEDED|UNAVAILABLE)$/)
      }
      await health.until(Status.NOT_SERVING)
      proxy.restore()
      await health.until(Status.SERVING)
      expect(await outcomes(client.adapter)).toEqual(outcomesWhenAllIsWell)
    },
  )
})

const outcomesWhenAllIsWell = expect.objectContaining({
  createUser: expect.stringContaining("resolved to {"),
  getUser: "resolved to null",
  getUserByEmail: "resolved to null",
  getUserByAccount: "resolved to null",
  updateUser: "NOT_FOUND",
  deleteUser: "resolved to null",
  linkAccount: "NOT_FOUND",
  unlinkAccount: "resolved to undefined",
  getAccount: "resolved to null",
  createSession: "NOT_FOUND",
  getSessionAndUser: "resolved to null",
  updateSession: "resolved to null",
  deleteSession: "resolved to null",
  createVerificationToken: expect.stringContaining("resolved to {"),
  useVerificationToken: "resolved to null",
  createAuthenticator: "NOT_FOUND",
  getAuthenticator: "resolved to null",
  listAuthenticatorsByUserId: "resolved to []",
  updateAuthenticatorCounter: "NOT_FOUND",
})
