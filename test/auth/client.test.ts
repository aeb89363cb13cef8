import type { AuthwireError } from "@authwire/client"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type Carrier, carriers } from "../transports/carriers.js"

// The client's apiKey, over each of its transports.
describe("a client", () => {
  let database: TestDatabase
  let server: ServerProcess
  const all = staticKey(["all"])
  const mayRead = staticKey(["users:read"])
  beforeAll(async () => {
    database = await createDatabase("sqlite")
    const env = { AUTHWIRE_API_KEYS: JSON.stringify([all.entry, mayRead.entry]) }
    server = await startServer({ databaseUrl: database.url, keys: false, env })
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })
  /** Returns the outcome of an adapter's call: OK, or the error. */
  async function outcome(carrier: Carrier, apiKey: string | undefined, options: { authorization?: string } = {}) {
    const { authorization } = options
    const client = carrier.connect(server, {
      apiKey,
      ...(authorization === undefined ? {} : { headers: { authorization } }),
    })
    try {
      const user = { id: crypto.randomUUID(), email: `${crypto.randomUUID()}@example.com`, emailVerified: null }
      await client.adapter.createUser?.(user)
      return "OK"
    } catch (error) {
      if (!(error instanceof Error) || !("reason" in error)) throw error
      const { code, reason, metadata } = error as AuthwireError
      return [code, reason, ...(metadata.scope === undefined ? [] : [metadata.scope])].join(" ")
    } finally {
      client.close()
    }
  }

  describe.each(carriers.map((carrier) => [carrier.name, carrier] as const))("over %s", (_, carrier) => {
    test("with a key that has the scope is accepted", async () => {
      expect(await outcome(carrier, all.text)).toBe("OK")
      expect(await outcome(carrier, undefined, { authorization: `Bearer ${all.text}` })).toBe("OK")
    })

    test("with another key, or without one, gets the exact error, and never a not-found result", async () => {
      expect(await outcome(carrier, mayRead.text)).toBe("PERMISSION_DENIED SCOPE_MISSING users:write")
      expect(await outcome(carrier, "awk_x")).toBe("UNAUTHENTICATED API_KEY_INVALID")
      expect(await outcome(carrier, staticKey(["all"]).text)).toBe("UNAUTHENTICATED API_KEY_INVALID")
      expect(await outcome(carrier, undefined)).toBe("UNAUTHENTICATED API_KEY_MISSING")
      const wrong = carrier.connect(server, { apiKey: "x" })
      await expect(Promise.resolve(wrong.adapter.getUser?.("nobody"))).rejects.toMatchObject({
        code: "UNAUTHENTICATED",
      })
      wrong.close()
    })

    test("may set another key for a call, which takes precedence", async () => {
      const client = carrier.connect(server, { apiKey: mayRead.text })
      const by = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })
      const create = (options?: { headers: { authorization: string } }) =>
        client.users.createUser({ id: crypto.randomUUID() }, options).then(
          () => "OK",
          (error) => error.rawMessage,
        )
      expect(await create()).toMatch(/lacks the scope users:write/)
      expect(await create(by(all.text))).toBe("OK")
      expect(await create(by("x"))).toMatch(/unknown, revoked or expired/)
      client.close()
    })
  })
})
