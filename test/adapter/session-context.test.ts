import { AuthwireAdapter } from "@authwire/client"
import { AuthwireAdapter as EdgeAdapter } from "@authwire/client/edge"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { describe, expect, test } from "@jest/globals"

const target = serviceDatabase()

describe("the context of a session", () => {
  const authwire = useAuthwire(target)

  const newSession = async () => {
    const user = await authwire.adapter.createUser({
      id: crypto.randomUUID(),
      email: `${crypto.randomUUID()}@x`,
      emailVerified: null,
    })
    return { sessionToken: crypto.randomUUID(), userId: user.id, expires: new Date("2099-01-01T00:00:00Z") }
  }
  const textOf = (value: unknown) => (Buffer.isBuffer(value) ? value.toString() : value)

  test("is stored with the session, and truncated where the client could make it too long", async () => {
    const userAgent = `${"é".repeat(511)}\u{1f98a}`
    const context = async () => ({ ip: "6".repeat(1000), userAgent, authMethod: null, provider: "Gîthub" })
    const adapters = [
      AuthwireAdapter({ url: authwire.server.grpcUrl, context }),
      EdgeAdapter({ url: authwire.server.httpUrl, context }),
    ]
    for (const adapter of adapters) {
      const session = await newSession()
      expect(await adapter.createSession(session)).toEqual(session)
      const [row] = await authwire.rows("SELECT * FROM sessions WHERE user_id = ?", [session.userId])
      expect([row?.ip, row?.user_agent]).toEqual(["6".repeat(64), `${"é".repeat(511)}\ufffd`])
      expect([textOf(row?.provider), row?.auth_method, row?.impersonator]).toEqual(["Gîthub", null, null])
    }
  })

  test("may be missing; an error of the callback is thrown, and no session is created", async () => {
    const session = await newSession()
    const { grpcUrl: url } = authwire.server
    const fault = new Error("of the application")
    const failing = AuthwireAdapter({ url, context: () => Promise.reject(fault) })
    await expect(failing.createSession(session)).rejects.toThrow()
    expect(await authwire.rows("SELECT id FROM sessions WHERE user_id = ?", [session.userId])).toEqual([])
    expect(await AuthwireAdapter({ url, context: () => undefined }).createSession(session)).toEqual(session)
  })
})
