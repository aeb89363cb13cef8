import { UserService } from "@authwire/proto"
import { createDatabase, describeServer } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { createKey, revokeKey } from "@authwire/test-support/processes/keys.js"
import { startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { logOf } from "@authwire/test-support/processes/workers.js"
import { until } from "@authwire/test-support/until.js"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node"
import { expect, test } from "@jest/globals"

const later = endsAfterEach()

describeServer("two workers", (engine) => {
  test("accept the same keys, static and of the database; a revoked key stops in both", async () => {
    const database = await createDatabase(engine)
    later(database.drop)
    const given = staticKey(["users:read"])
    const env = { AUTHWIRE_API_KEYS: JSON.stringify([given.entry]) }
    const server = await startServer({ databaseUrl: database.url, keys: false, args: ["--workers=2"], env })
    later(server.stop)
    const key = await createKey(database, "users:read")
    // Connections are distributed to the workers in turn.
    const connections = Array.from({ length: 4 }, () => {
      const sessionManager = new Http2SessionManager(server.grpcUrl)
      later(async () => sessionManager.abort())
      return createClient(UserService, createGrpcTransport({ baseUrl: server.grpcUrl, sessionManager }))
    })
    const codes = async (text: string) => {
      const headers = { authorization: `Bearer ${text}` }
      const ends = connections.map((users) => users.getUser({ id: "nobody" }, { headers }).catch((error) => error))
      return new Set((await Promise.all(ends)).map((end) => (end instanceof ConnectError ? Code[end.code] : "OK")))
    }
    expect(await codes(given.text)).toEqual(new Set(["NotFound"]))
    expect(await codes(key.text)).toEqual(new Set(["NotFound"]))
    expect(new Set(logOf(server).flatMap(({ worker, msg }) => (msg === "call" ? [worker] : [])))).toEqual(
      new Set([1, 2]),
    )
    await revokeKey(database, key)
    await until(async () => {
      const seen = await codes(key.text)
      return seen.size === 1 && seen.has("Unauthenticated")
    })
    expect(await codes(given.text)).toEqual(new Set(["NotFound"]))
    expect(await server.stop()).toBe(0)
  })
})
