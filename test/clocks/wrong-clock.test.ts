import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { decode } from "@authwire/token"
import { expect, test } from "@jest/globals"
import { otherClock } from "./other-clock.js"

const day = 86_400_000
const secret = "a secret of a process whose clock is wrong"
const salt = "authjs.session-token"

const later = endsAfterEach()

test.each([
  ["ahead of", 400 * day],
  ["behind", -400 * day],
])("a server whose clock is 400 days %s the database's ends nothing early or late, and says so", async (where, ms) => {
  const expired = staticKey(["all"], { expires: new Date(Date.now() - day).toISOString() })
  const authwire = await startAuthwire(serviceDatabase(), {
    keys: [expired],
    args: ["--metrics-addr=127.0.0.1:0"],
    env: { AUTH_SECRET: secret, ...otherClock({ off: ms }) },
  })
  later(authwire.close)
  const { server, client: other } = authwire
  const { adapter, jwt } = authwire.clientOf(await createKey(authwire.database, "all", "--expires=1d"))

  const { id: userId } = await adapter.createUser({ id: "u", email: "u@example.com", emailVerified: null })
  const session = async (inMs: number) => {
    const sessionToken = crypto.randomUUID()
    await adapter.createSession({ sessionToken, userId, expires: new Date(Date.now() + inMs) })
    return async () => (await adapter.getSessionAndUser(sessionToken))?.user.id
  }
  const [lasting, past] = [await session(day), await session(-day)]
  expect([await lasting(), await past()]).toEqual([userId, undefined])
  await expect(other.adapter.getUser(userId)).rejects.toMatchObject({ reason: "API_KEY_INVALID" })
  const token = await jwt.encode({ token: { sub: userId }, salt, secret })
  const claims = await decode({ token, salt, secret })
  expect(Math.abs(Number(claims?.iat) * 1000 - Date.now())).toBeLessThan(60_000)
  expect(await jwt.decode({ token, salt, secret })).toMatchObject({ sub: userId })

  const ready = async () => (await fetch(`${server.httpUrl}/readyz`)).text()
  const offset = async () => {
    const metrics = await (await fetch(server.metricsUrl)).text()
    return Number(/^authwire_clock_offset_seconds (\S+)$/m.exec(metrics)?.[1])
  }
  expect(await ready()).toMatch(
    new RegExp(`^ready\nthe clock is 345\\d{5}(\\.\\d+)? seconds ${where} the database's\n$`),
  )
  expect(Math.abs((await offset()) * 1000 - ms)).toBeLessThan(60_000)
  expect(server.log()).toMatch(/the clock of this process is \d/)

  process.kill(server.pid, "SIGUSR2")
  await until(async () => (await ready()) === "ready\n")
  expect(Math.abs(await offset())).toBeLessThan(1)
  expect(server.log()).toMatch("agrees with the database's again")
  expect([await lasting(), await past()]).toEqual([userId, undefined])
})
