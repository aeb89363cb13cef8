import { createServer } from "node:http"
import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import { listen } from "@authwire/test-support/connections/free-port.js"
import {
  createDatabase,
  type ServerEngine,
  serviceDatabase,
  serviceServer,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { type Later, withEndings } from "@authwire/test-support/endings.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { failureOf } from "../transports/world.js"
import { lifetime, type OidcProvider, startOidcProvider } from "./oidc.js"
import { entryOf, providersFile, type Replica, signedUp, startReplica } from "./world.js"

// Real replicas, and a real provider that rotates refresh tokens and revokes the grant if one is used twice, so that a
// second refresh would be noticed.
const range = (count: number) => [...Array(count).keys()]

const target = serviceDatabase()

describe(`on ${target}`, () => {
  let database: TestDatabase
  let provider: OidcProvider
  let file: string
  // SQLite has a single process.
  const replicas: Replica[] = []
  const replica = (n: number) => replicas[n % replicas.length] as Replica
  const get = ({ client }: Replica, account: { userId: string; provider: string }, more: object = {}) =>
    client.accounts.getAccessToken({ userId: account.userId, provider: account.provider, ...more })
  const stored = async ({ providerAccountId }: { providerAccountId: string }) => {
    const account = await replica(0).client.accounts.getAccount({ provider: "oidc", providerAccountId })
    return account.account as NonNullable<typeof account.account>
  }
  /** Makes the access token of an account expire. Its refresh token is unchanged. */
  const expire = async ({ providerAccountId }: { providerAccountId: string }) => {
    await database.query("UPDATE accounts SET expires_at = 1000 WHERE provider_account_id = ?", [
      target === "postgres" || target === "sqlite" ? providerAccountId : Buffer.from(providerAccountId),
    ])
  }
  const signIn = async (more: object = {}) => {
    const id = crypto.randomUUID()
    return signedUp(replica(0).client, { refreshToken: await provider.signIn(id), ...more })
  }

  beforeAll(async () => {
    database = await createDatabase(target)
    provider = await startOidcProvider()
    file = providersFile({ default: { oidc: entryOf(provider) } })
    replicas.push(await startReplica(database, file))
    if (target !== "sqlite") replicas.push(await startReplica(database, file))
  })
  afterAll(async () => {
    await Promise.all(replicas.map((one) => one.stop()))
    await provider.close()
    await database.drop()
  })

  test("200 concurrent calls on all replicas get one token of one refresh, and again after it has expired", async () => {
    const account = await signIn()
    const tokens = new Set<string>()
    for (const round of range(2)) {
      const before = provider.outcomes.length
      const refreshToken = (await stored(account)).refreshToken
      const answers = await Promise.all(range(200).map((n) => get(replica(n), account)))
      expect(provider.outcomes.slice(before)).toEqual(["OK"])
      expect(new Set(answers.map(({ accessToken }) => accessToken)).size).toBe(1)
      const [answer] = answers as [(typeof answers)[0]]
      expect(answer).toMatchObject({ tokenType: "bearer", scope: "openid offline_access" })
      const seconds = Number(answer.expires?.seconds)
      expect(Math.abs(seconds - Date.now() / 1000 - lifetime)).toBeLessThan(60)
      expect(await provider.takes(answer.accessToken)).toBe(true)
      const now = await stored(account)
      expect(now).toMatchObject({ accessToken: answer.accessToken, expiresAt: seconds, expiresIn: lifetime })
      expect(now.idToken?.split(".")).toHaveLength(3)
      expect(now.refreshToken).not.toBe(refreshToken)
      tokens.add(answer.accessToken)
      expect(tokens.size).toBe(round + 1)
      await expire(account)
    }
  })

  test("a cancelled call does not end the refresh that other calls wait for", async () => {
    const account = await signIn()
    const gate = provider.hold()
    const before = provider.outcomes.length
    const giveUp = new AbortController()
    const { accounts } = replica(0).client
    const first = failureOf(accounts.getAccessToken(account, { signal: giveUp.signal }))
    await until(() => gate.held() === 1)
    const others = range(10).map((n) => get(replica(n), account))
    giveUp.abort()
    expect((await first).code).toBe("Canceled")
    gate.open()
    for (const { accessToken } of await Promise.all(others)) expect(await provider.takes(accessToken)).toBe(true)
    expect(provider.outcomes.slice(before)).toEqual(["OK"])
  })

  test("the new token is stored even if no call waits for it any more", async () => {
    const account = await signIn()
    const gate = provider.hold()
    const giveUp = new AbortController()
    const first = failureOf(replica(0).client.accounts.getAccessToken(account, { signal: giveUp.signal }))
    await until(() => gate.held() === 1)
    giveUp.abort()
    await first
    gate.open()
    await until(async () => (await stored(account)).accessToken !== "expired")
    expect(await provider.takes((await stored(account)).accessToken as string)).toBe(true)
  })

  test("a replica that is stopped while the provider responds stores the response before it exits", async () => {
    const account = await signIn()
    const own = target === "sqlite" ? undefined : await startReplica(database, file)
    if (own === undefined) return
    const gate = provider.hold()
    const giveUp = new AbortController()
    const first = failureOf(own.client.accounts.getAccessToken(account, { signal: giveUp.signal }))
    await until(() => gate.held() === 1)
    giveUp.abort()
    await first
    const stopped = own.stop()
    await until(() => own.server.log().includes("stopping"))
    gate.open()
    await stopped
    expect(await provider.takes((await stored(account)).accessToken as string)).toBe(true)
  })
})

// The lease of a lost replica ends after 18 seconds, for which all these tests wait at the same time.
describe("a replica is lost while it refreshes a token", () => {
  const target = serviceServer() as ServerEngine
  const testTogether = target === undefined ? test.skip : test.concurrent

  /** A replica whose provider does not respond before the test gives it the response, and other replicas. */
  async function start(later: Later, count: number) {
    const database = await createDatabase(target)
    later(database.drop)
    const provider = await startOidcProvider()
    later(provider.close)
    let asks = 0
    let answer: (body: object) => void = () => {}
    const silent = createServer((request, response) => {
      request.resume()
      asks++
      answer = (body) => response.setHeader("content-type", "application/json").end(JSON.stringify(body))
    })
    const issuer = `http://127.0.0.1:${await listen(silent)}`
    later(async () => {
      silent.closeAllConnections()
      silent.close()
    })
    const file = (of: Parameters<typeof entryOf>[0]) =>
      providersFile({ default: { oidc: entryOf(of, { timeout_seconds: 5 }) } })
    const [lost, ...others] = await Promise.all([
      startReplica(database, file({ issuer, tokenEndpoint: `${issuer}/token` })),
      ...range(count).map(() => startReplica(database, file(provider))),
    ])
    later(() => Promise.all([lost.stop("SIGKILL"), ...others.map((other) => other.stop())]))
    const other = (n: number) => others[n % others.length] as Replica
    const account = await signedUp(other(0).client, { refreshToken: await provider.signIn(crypto.randomUUID()) })
    const get = ({ client }: Replica) => client.accounts.getAccessToken(account)
    const stored = async () => (await other(0).client.accounts.getAccount(account)).account
    const asked = () => until(() => asks > 0)
    return { provider, account, other, lost, get, stored, asked, answer: (body: object) => answer(body) }
  }

  testTogether(
    "if it is killed before the provider has executed its refresh, another replica takes over",
    withEndings(async (later) => {
      const { provider, other, lost, get, stored, asked } = await start(later, 2)
      const failed = failureOf(get(lost))
      await asked()
      const waiting = range(20).map((n) => get(other(n)))
      await lost.stop("SIGKILL")
      await failed
      const answers = await Promise.all(waiting)
      expect(new Set(answers.map(({ accessToken }) => accessToken)).size).toBe(1)
      expect(provider.outcomes).toEqual(["OK"])
      expect(await provider.takes((await stored())?.accessToken as string)).toBe(true)
    }),
    120_000,
  )

  testTogether(
    "if it is frozen past its lease, it does not overwrite what another replica has stored",
    withEndings(async (later) => {
      // The frozen replica gets responses of another provider, which accepts refresh tokens that are used twice.
      const { provider, account, other, lost, get, stored, asked, answer } = await start(later, 1)
      // Its caller waits as long as it takes: a client of pipelines would leave a service that answers no check.
      const patient = createEdgeClient({ url: lost.server.httpUrl, timeoutMs: 60_000 })
      const late = patient.accounts.getAccessToken(account)
      await asked()
      process.kill(lost.server.pid, "SIGSTOP")
      answer({ access_token: "of the frozen one", token_type: "bearer", refresh_token: "replaced" })
      const fresh = await get(other(0))
      expect(await provider.takes(fresh.accessToken)).toBe(true)
      process.kill(lost.server.pid, "SIGCONT")
      expect((await late).accessToken).toBe(fresh.accessToken)
      expect(await stored()).toMatchObject({ accessToken: fresh.accessToken })
    }),
    120_000,
  )
})
