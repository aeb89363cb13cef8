import type { AuthwireError } from "@authwire/client"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { Code } from "@connectrpc/connect"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type Carrier, carriers } from "../transports/carriers.js"

// The client's apiKey, over each of its transports.
describe("a client", () => {
  let database: TestDatabase
  let server: ServerProcess
  const all = staticKey(["all"])
  const mayWrite = staticKey(["users:write"])
  beforeAll(async () => {
    database = await createDatabase("sqlite")
    const env = { AUTHWIRE_API_KEYS: JSON.stringify([all.entry, mayWrite.entry]) }
    server = await startServer({ databaseUrl: database.url, keys: false, env })
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })
  /** Looks up a user that does not exist. Returns null, or the error. */
  async function outcome(carrier: Carrier, options: Parameters<Carrier["connect"]>[1]) {
    const client = carrier.connect(server, options)
    try {
      return await client.adapter.getUser("nobody")
    } catch (error) {
      const { code, reason, metadata } = error as AuthwireError
      return [code, reason, metadata.scope]
    } finally {
      client.close()
    }
  }

  describe.each(carriers.map((carrier) => [carrier.name, carrier] as const))("over %s", (_, carrier) => {
    test("gets the exact error with another key or without one, and never a not-found result", async () => {
      expect(await outcome(carrier, { apiKey: all.text })).toBeNull()
      expect(await outcome(carrier, { headers: { authorization: `Bearer ${all.text}` } })).toBeNull()
      const missing = ["PERMISSION_DENIED", "SCOPE_MISSING", "users:read"]
      expect(await outcome(carrier, { apiKey: mayWrite.text })).toEqual(missing)
      const invalid = ["UNAUTHENTICATED", "API_KEY_INVALID", undefined]
      for (const apiKey of ["x", staticKey(["all"]).text]) expect(await outcome(carrier, { apiKey })).toEqual(invalid)
      expect(await outcome(carrier, {})).toEqual(["UNAUTHENTICATED", "API_KEY_MISSING", undefined])
    })

    test("may set another key for a call, which takes precedence", async () => {
      const client = carrier.connect(server, { apiKey: mayWrite.text })
      const get = (key: string) =>
        client.users
          .getUser({ id: "nobody" }, { headers: { authorization: `Bearer ${key}` } })
          .catch(({ code }) => code)
      expect([await get(all.text), await get("x")]).toEqual([Code.NotFound, Code.Unauthenticated])
      client.close()
    })
  })
})
