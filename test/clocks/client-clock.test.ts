import { createAuthwireClient } from "@authwire/client"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterEach, expect, jest, test } from "@jest/globals"

const later = endsAfterEach()
afterEach(() => {
  jest.restoreAllMocks()
})

test.each([
  ["forward", 900_000],
  ["back", -900_000],
])("while the clock of a client is set %s again and again, each of its calls is answered", async (_, ms) => {
  const authwire = await startAuthwire(serviceDatabase())
  later(authwire.close)
  // Far below a step of the clock, and enough for a busy machine.
  const client = createAuthwireClient({ url: authwire.server.grpcUrl, sessionCache: {}, timeoutMs: 30_000 })
  authwire.later(async () => client.close())
  const { adapter } = client
  const { id: userId } = await adapter.createUser({ id: "u", email: "u@example.com", emailVerified: null })
  const sessionToken = crypto.randomUUID()
  // It lasts for longer than the clock is set forward in all.
  const expires = new Date("9000-01-01T00:00:00.000Z")
  await adapter.createSession({ sessionToken, userId, expires })
  const time = Date.now
  let off = 0
  for (let n = 0; n < 100; n++) {
    const calls = [adapter.getSessionAndUser(sessionToken), adapter.updateUser({ id: userId, name: `${n}` })] as const
    off += ms
    jest.spyOn(Date, "now").mockImplementation(() => time() + off)
    const [found, updated] = await Promise.all(calls)
    expect([found?.user.id, updated.name]).toEqual([userId, `${n}`])
  }
  await adapter.deleteSession(sessionToken)
  expect(await adapter.getSessionAndUser(sessionToken)).toBeNull()
})
