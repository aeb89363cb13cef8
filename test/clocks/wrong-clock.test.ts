import { createAuthwireClient } from "@authwire/client"
import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { decode } from "@authwire/token"
import { expect, test } from "@jest/globals"

const day = 86_400_000
const secret = "a secret of a process whose clock is wrong"
const salt = "authjs.session-token"

const later = endsAfterEach()

/** A program that sets the clock that JavaScript sees by `ms`, and sets it right at SIGUSR2. The database's is not affected. */
const wrongClock = (ms: number) => `
  const Right = Date
  let off = ${ms}
  globalThis.Date = class Date extends Right {
    constructor(...parts) {
      if (parts.length === 0) super(Right.now() + off)
      else super(...parts)
    }
    static now() { return Right.now() + off }
  }
  process.on("SIGUSR2", () => { off = 0 })`

test.each([
  ["ahead of", 400 * day],
  ["behind", -400 * day],
])("a server whose clock is 400 days %s the database's ends nothing early or late, and says so", async (where, ms) => {
  const database = await createDatabase(serviceDatabase())
  later(() => database.drop())
  await migrate(database)
  const { text: apiKey } = await createKey(database, "all", "--expires=1d")
  const expired = staticKey(["all"], { expires: new Date(Date.now() - day).toISOString() })
  const server = await startServer({
    databaseUrl: database.url,
    keys: false,
    args: ["--metrics-addr=127.0.0.1:0"],
    env: {
      AUTH_SECRET: secret,
      AUTHWIRE_API_KEYS: JSON.stringify([expired.entry]),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(wrongClock(ms))}`,
    },
  })
  later(() => server.stop())
  const connected = (apiKey: string) => {
    const client = createAuthwireClient({ url: server.grpcUrl, apiKey })
    later(async () => client.close())
    return client
  }
  const [{ adapter, jwt }, other] = [connected(apiKey), connected(expired.text)]

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
    const url = /^authwire: metrics at (\S+)$/m.exec(server.output())?.[1] as string
    return Number(/^authwire_clock_offset_seconds (\S+)$/m.exec(await (await fetch(url)).text())?.[1])
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
