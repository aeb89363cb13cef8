import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { SessionLimitAction, SessionPolicyService } from "@authwire/proto"
import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { tokenHash, useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { run, type ServerProcess, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { decode } from "@authwire/token"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { type Client, createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { afterEach, beforeAll, describe, expect, test } from "@jest/globals"

const target = serviceDatabase()
const day = 86_400
const seconds = (count: number) => ({ seconds: BigInt(count) })
const everyRule = { paths: ["max_age", "idle_timeout", "max_sessions", "at_limit"] }

describe("the session policy of a tenant", () => {
  const authwire = useAuthwire(target)
  let second: ServerProcess
  let client: AuthwireClient
  let other: AuthwireClient
  let policies: Client<typeof SessionPolicyService>
  let otherPolicies: Client<typeof SessionPolicyService>

  beforeAll(async () => {
    client = authwire.client
    second = await authwire.another()
    other = createAuthwireClient({ url: second.grpcUrl })
    authwire.later(async () => other.close())
    policies = createClient(SessionPolicyService, createGrpcTransport({ baseUrl: authwire.server.grpcUrl }))
    otherPolicies = createClient(SessionPolicyService, createGrpcTransport({ baseUrl: second.grpcUrl }))
  })
  afterEach(async () => {
    await policies.updateSessionPolicy({ updateMask: everyRule })
    await authwire.database.query("DELETE FROM session_policies")
  })

  async function signIn(lasts = 30 * day) {
    const { user } = await client.users.createUser({})
    const sessionToken = crypto.randomUUID()
    const expires = timestampFromMs(Date.now() + lasts * 1000)
    const { session } = await client.sessions.createSession({ sessionToken, userId: String(user?.id), expires })
    return { sessionToken, userId: String(user?.id), expires: Number(session?.expires?.seconds) }
  }
  const isSignedIn = (sessionToken: string, over = other) =>
    over.sessions.getSessionAndUser({ sessionToken }).then(
      () => true,
      () => false,
    )
  /** As if the sessions had been created, and used, so many seconds earlier. */
  const age = (sessionToken: string, by: number, columns = ["created", "last_seen"]) => {
    const past = new Date(Date.now() - by * 1000).toISOString().slice(0, 23).replace("T", " ")
    const set = columns.map((column) => `${column} = '${past}'`).join(", ")
    return authwire.database.query(`UPDATE sessions SET ${set} WHERE ${hashIs(sessionToken)}`)
  }
  const hashIs = (sessionToken: string) => {
    const hash = tokenHash(sessionToken).toLowerCase()
    return target === "postgres" ? `encode(token_hash, 'hex') = '${hash}'` : `LOWER(HEX(token_hash)) = '${hash}'`
  }

  test("is read and changed, rule by rule, with an etag", async () => {
    const { policy } = await policies.getSessionPolicy({})
    expect([policy?.maxAge, policy?.atLimit]).toEqual([undefined, SessionLimitAction.END_OLDEST])
    const change = { maxAge: seconds(day), maxSessions: 5, atLimit: SessionLimitAction.REJECT_NEW }
    const changed = await policies.updateSessionPolicy({ ...change, updateMask: everyRule, etag: policy?.etag })
    expect(changed.policy).toMatchObject({ ...change, maxAge: { seconds: BigInt(day), nanos: 0 } })
    expect((await otherPolicies.getSessionPolicy({})).policy).toEqual(changed.policy)
    const stale = policies.updateSessionPolicy({ updateMask: { paths: ["max_age"] }, etag: policy?.etag })
    await expect(stale).rejects.toMatchObject({ message: expect.stringContaining("etag") })
    const idle = { idleTimeout: seconds(600), updateMask: { paths: ["idle_timeout"] } }
    expect((await policies.updateSessionPolicy(idle)).policy).toMatchObject({
      ...change,
      maxAge: { seconds: BigInt(day) },
    })
  })

  test("rejects a sign-in with its reason", async () => {
    const rules = { maxSessions: 1, atLimit: SessionLimitAction.REJECT_NEW, updateMask: everyRule }
    await policies.updateSessionPolicy(rules)
    const { userId, sessionToken } = await signIn()
    const expires = timestampFromMs(Date.now() + 1_000_000)
    const again = client.sessions.createSession({ sessionToken: "another", userId, expires })
    await expect(again).rejects.toMatchObject({ message: expect.stringContaining("as many sessions") })
    expect(await isSignedIn(sessionToken)).toBe(true)
  })

  test("Encode issues no token beyond the absolute lifetime, soon on every replica", async () => {
    const lifetimeOf = async (over: AuthwireClient, maxAge?: number) => {
      const request = { payload: { sub: "u" }, salt: "s", secrets: ["a secret"], ...(maxAge && { maxAge }) }
      const { token } = await over.tokens.encode(request)
      const { iat, exp } = (await decode({ token, salt: "s", secret: "a secret" })) as { iat: number; exp: number }
      return exp - iat
    }
    expect(await lifetimeOf(other)).toBe(30 * day)
    await policies.updateSessionPolicy({ maxAge: seconds(day), updateMask: { paths: ["max_age"] } })
    await until(async () => (await lifetimeOf(other)) === day)
    expect(await lifetimeOf(other, 3_600)).toBe(3_600)
    expect(await lifetimeOf(other, 100 * day)).toBe(day)
  })

  test("and RevokeAllSessions reach clients that cache sessions, with await_caches at once", async () => {
    const cached = createAuthwireClient({ url: second.grpcUrl, sessionCache: { maxStaleMs: 10_000 } })
    try {
      const [first, next] = [await signIn(), await signIn()]
      await age(next.sessionToken, 2 * day, ["created"])
      const read = ({ sessionToken }: { sessionToken: string }) => cached.adapter.getSessionAndUser?.(sessionToken)
      const isCached = async (session: { sessionToken: string }) => {
        await read(session)
        const begun = performance.now()
        await read(session)
        return performance.now() - begun < 0.2
      }
      for (const session of [first, next]) await until(() => isCached(session))
      await policies.updateSessionPolicy({
        maxAge: seconds(day),
        updateMask: { paths: ["max_age"] },
        awaitCaches: true,
      })
      expect([await read(next), (await read(first))?.user.id]).toEqual([null, first.userId])
      await until(() => isCached(first))
      await client.sessions.revokeAllSessions({ awaitCaches: true })
      expect(await read(first)).toBeNull()
    } finally {
      cached.close()
    }
  })

  test("is exported and imported; that of the target is replaced only by --apply, and never by none", async () => {
    const { url } = authwire.database
    const copy = await createDatabase(target)
    const env = { AUTH_SECRET: testSecret, AUTHWIRE_SOURCE_URL: url, AUTHWIRE_DATABASE_URL: copy.url }
    const exported = (databaseUrl = url) => run(["export"], { ...env, AUTHWIRE_DATABASE_URL: databaseUrl })
    const imported = (...args: string[]) => run(["import", "--from=authwire", "--delete", ...args], env)
    const stored = async () =>
      (await copy.query("SELECT * FROM session_policies")).map((row) => ({ ...row, at_limit: String(row.at_limit) }))
    await run(["migrate", "up"], env)
    await run(["cleanup"], { AUTHWIRE_DATABASE_URL: url })
    expect((await exported()).stdout).not.toContain("sessionPolicies")

    await policies.updateSessionPolicy({
      maxAge: seconds(90 * day),
      maxSessions: 5,
      atLimit: SessionLimitAction.REJECT_NEW,
      updateMask: everyRule,
    })
    const line = { table: "sessionPolicies", maxAge: 90 * day * 1000, maxSessions: 5, atLimit: "reject_new" }
    expect(JSON.parse((await exported()).stdout.trim().split("\n").at(-2) ?? "")).toEqual(line)
    const rules = "max age 90d, max sessions 5, at limit reject-new"
    const dry = await imported()
    expect(dry.stdout).toContain(`\nsession policy: to become ${rules}; the tenant has none\n`)
    expect([dry.code, await stored()]).toEqual([0, []])
    expect((await imported("--apply")).code).toBe(0)
    const same = { max_age: 90 * day * 1000, idle_timeout: null, max_sessions: 5, at_limit: "reject_new" }
    expect(await stored()).toMatchObject([{ ...same, revoked_before: null }])
    expect((await exported(copy.url)).stdout).toBe((await exported()).stdout)

    await copy.query("UPDATE session_policies SET idle_timeout = 3600000, revoked_before = '2020-01-01 00:00:00'")
    const other = await imported()
    expect(other.stdout).toContain(
      `\nsession policy: to become ${rules}; the tenant has max age 90d, idle timeout 1h, max`,
    )
    expect(await stored()).toMatchObject([{ ...same, idle_timeout: 3_600_000 }])
    expect((await imported("--apply")).code).toBe(0)
    const [row] = await stored()
    expect(row).toMatchObject(same)
    expect(row).not.toMatchObject({ revoked_before: null })

    await policies.updateSessionPolicy({ updateMask: everyRule })
    const none = await imported("--apply")
    expect([none.code, none.stdout.includes("session policy")]).toEqual([0, false])
    expect(await stored()).toMatchObject([same])
    await copy.drop()
  }, 120_000)

  test("sessions that RevokeAllSessions has ended are not exported or imported, where they would be valid again", async () => {
    const ended = await signIn()
    await client.sessions.revokeAllSessions({})
    let valid = ended
    await until(async () => {
      valid = await signIn()
      return isSignedIn(valid.sessionToken)
    })
    const { url } = authwire.database
    const copy = await createDatabase(target)
    const env = { AUTH_SECRET: testSecret, AUTHWIRE_SOURCE_URL: url, AUTHWIRE_DATABASE_URL: copy.url }
    await run(["migrate", "up"], env)
    const { stdout } = await run(["export"], { ...env, AUTHWIRE_DATABASE_URL: url })
    expect([stdout.includes(valid.userId), stdout.includes(ended.userId)]).toEqual([true, true])
    const sessions = stdout.split("\n").filter((line) => line.startsWith('{"table":"sessions"'))
    expect(sessions.join()).toContain(valid.userId)
    expect(sessions.join()).not.toContain(ended.userId)
    for (const _ of [1, 2]) expect(await run(["import", "--from=authwire", "--apply"], env)).toMatchObject({ code: 0 })
    const copied = (await copy.query("SELECT user_id FROM sessions")).map(({ user_id }) => String(user_id))
    expect([copied.includes(valid.userId), copied.includes(ended.userId)]).toEqual([true, false])
    await copy.drop()
  })
})
