import { type AuthwireClient, createAuthwireClient, grpcTransport } from "@authwire/client"
import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import { commitText } from "@authwire/test-support/databases/commit-text.js"
import { createDatabase, serviceDatabase, tcpProxy, testOnServer } from "@authwire/test-support/databases/databases.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"

const timeoutMs = 20_000
const expires = new Date(Date.now() + 3_600_000)

/** Each transport of the client, with the service behind a proxy of one of its listeners. */
const ways: [name: string, listener: "grpcUrl" | "httpUrl", connect: (url: string) => AuthwireClient][] = [
  ["a pipeline", "grpcUrl", (url) => createAuthwireClient({ url, timeoutMs })],
  [
    "gRPC",
    "grpcUrl",
    (url) => {
      const transport = grpcTransport({ url })
      return { ...createAuthwireClient({ url, timeoutMs, transport }), close: transport.close }
    },
  ],
  ["fetch", "httpUrl", (url) => createEdgeClient({ url, timeoutMs })],
]

// All transports at the same time, and below all servers, because clients wait before they connect again.
const target = serviceDatabase()

describe("a lost response", () => {
  test.concurrent.each(ways)(
    "over %s: a retry of the client returns it, and the write is done once",
    async (_, listener, connect) => {
      const database = await createDatabase(target)
      const server = await startServer({ databaseUrl: database.url })
      const proxy = await tcpProxy(Number(new URL(server[listener]).port))
      const client = connect(`http://127.0.0.1:${proxy.port}`)
      const count = async (table: string) => Number((await database.query(`SELECT COUNT(*) AS n FROM ${table}`))[0]?.n)

      /** Returns the outcome of a call whose response was produced when the table had `rows` rows, and was lost. */
      const losing = async <T>(call: () => Promise<T>, table: string, rows: number): Promise<T> => {
        // Makes sure that the connection is open.
        await client.adapter.getUser("nobody")
        const { accepted } = proxy
        proxy.mute()
        const answer = call()
        await until(async () => (await count(table)) === rows)
        expect(await Promise.race([answer, "no answer yet"])).toBe("no answer yet")
        proxy.reset()
        await answer
        expect(proxy.accepted).toBeGreaterThan(accepted)
        return answer
      }

      // Without an id, each execution would create another user.
      const user = await losing(
        () => client.adapter.createUser({ name: "Ada", emailVerified: null } as never),
        "users",
        1,
      )
      expect(await client.adapter.getUser(user.id)).toEqual(user)
      const link = { identifier: "ada@example.com", token: crypto.randomUUID(), expires }
      expect(await losing(async () => client.adapter.createVerificationToken(link), "verification_tokens", 1)).toEqual(
        link,
      )
      expect(await losing(async () => client.adapter.useVerificationToken(link), "verification_tokens", 0)).toEqual(
        link,
      )
      expect(await losing(() => client.users.deleteUser({ id: user.id }), "users", 0)).toMatchObject({
        user: { id: user.id },
      })
      // A token that was used stays deleted.
      expect(await client.adapter.useVerificationToken(link)).toBeNull()
      expect(await count("users")).toBe(0)
      client.close()
      await proxy.close()
      await server.stop()
      await database.drop()
    },
  )
})

describe("a connection to the database that breaks after COMMIT and before its answer", () => {
  testOnServer("loses no write: the client gets the response by a retry", async (_, target) => {
    const database = await createDatabase(target)
    const url = new URL(database.url)
    const proxy = await tcpProxy(Number(url.port || 3306))
    url.host = `127.0.0.1:${proxy.port}`
    const server = await startServer({ databaseUrl: url.href })
    const client = createAuthwireClient({ url: server.grpcUrl, timeoutMs })
    const users = async () => Number((await database.query("SELECT COUNT(*) AS n FROM users"))[0]?.n)

    for (const round of [1, 2, 3]) {
      proxy.mute(commitText[target])
      const created = client.adapter.createUser({ name: `${round}`, emailVerified: null } as never)
      await until(async () => (await users()) === round)
      expect(await Promise.race([created, "no answer yet"])).toBe("no answer yet")
      proxy.reset()
      const { id } = await created
      expect(await client.adapter.getUser(id)).toMatchObject({ name: `${round}` })
      expect(await users()).toBe(round)
    }
    client.close()
    await server.stop()
    await proxy.close()
    await database.drop()
  })
})
